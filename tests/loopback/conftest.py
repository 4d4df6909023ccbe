"""One loopback server for all tests of it, and the ways to call it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest
from loopback_process import Loopback


@pytest.fixture(scope="session")
def started_loopback() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def loopback(started_loopback: Loopback) -> Loopback:
    """Give the server, with a plan that says nothing and nothing seen."""
    started_loopback.plan()
    started_loopback.reset()
    return started_loopback


@pytest.fixture(scope="session")
def client(started_loopback: Loopback) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=started_loopback.url, api_key="any", max_retries=0, timeout=5) as client:
        yield client


@pytest.fixture
def raw(started_loopback: Loopback) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=started_loopback.url + "/", timeout=5) as client:
        yield client


def body_of(number: object, **more: Any) -> dict[str, Any]:
    """Return a request for a completion about a number."""
    user = {"role": "user", "content": json.dumps({"number": number})}
    return {"model": "served", "messages": [{"role": "system", "content": "How many?"}, user], **more}


@pytest.fixture
def ask(raw: httpx.Client) -> Callable[..., httpx.Response]:
    """Ask about a number: `ask(7, max_tokens=5)`."""
    return lambda number=7, **more: raw.post("chat/completions", json=body_of(number, **more))


@pytest.fixture
def body() -> Callable[..., dict[str, Any]]:
    return body_of
