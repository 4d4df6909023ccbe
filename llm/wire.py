"""One exchange with a server that speaks the OpenAI protocol; whatever goes wrong there has a name here."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import openai
from openai import AsyncOpenAI

from llm.attempts import Reply, Status
from llm.catalogue import Entry
from llm.errors import ModelError
from llm.pace import retry_after_of

NO_BALANCE = "the account has no balance"
STOPPING = {
    401: "the key is not accepted",
    402: NO_BALANCE,
    403: "access is refused",
    404: "the address or the model is not known there",
}
TOO_LONG = re.compile(
    r"context.{0,12}(length|size|window|limit)|maximum context|(prompt|input).{0,12}too (long|large)", re.I
)
"""How servers without the code for it say that an input passes what the model can read."""
CONNECT_SECONDS = 10.0
NO_CONNECTION = ("ConnectError", "ConnectTimeout")
BY_STATUS: dict[int, Status] = {408: "timeout", 409: "server_error", 425: "server_error", 429: "rate_limited"}
BY_CODE: dict[str, Status] = {
    "context_length_exceeded": "too_long",
    "string_above_max_length": "too_long",
    "content_filter": "filtered",
    "content_policy_violation": "filtered",
}


class Wire:
    """The connection to one address with one key. Until it is closed it belongs to one event loop."""

    def __init__(self, entry: Entry, key: str | None) -> None:
        """Name the address, and the key that it wants.

        Raises:
            ModelError: the key holds what no header can; the errors of HTTP would show it.
        """
        key = key.strip() if key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ModelError(f"the key of {entry.name} holds characters that no key has; copy it again")
        self.entry = entry
        self.key = key
        self.opened: AsyncOpenAI | None = None
        self.has_answered = False
        self.has_completed = False

    @property
    def client(self) -> AsyncOpenAI:
        """The client; it tries nothing again by itself, since each attempt is to be counted."""
        if self.opened is None:
            timeout = openai.Timeout(self.entry.timeout_seconds, connect=CONNECT_SECONDS)
            self.opened = AsyncOpenAI(
                base_url=self.entry.url, api_key=self.key or "none", max_retries=0, timeout=timeout
            )
            # What the environment says of an account at OpenAI is nobody else's business.
            self.opened.organization = self.opened.project = None
        return self.opened

    async def post(self, path: str, body: dict[str, Any]) -> Reply | dict[str, Any]:
        """Send one body and return the JSON object that comes back, or what came instead.

        A time-out counts from the sending to the last byte, so that a server which goes on and on ends too.
        """
        try:
            async with asyncio.timeout(self.entry.timeout_seconds):
                answer = await self.client.post(path, body=body, cast_to=object)
        except TimeoutError:
            return Reply("timeout")
        except openai.APITimeoutError as error:
            return self._unreachable(error) if _has_no_connection(error) else Reply("timeout")
        except openai.APIStatusError as error:
            self.has_answered = True
            return self._refused(error)
        except openai.APIConnectionError as error:
            return self._unreachable(error)
        except (ValueError, RecursionError, openai.APIError):  # the body is no JSON; the error would show it
            return Reply("empty", detail="no completion")
        self.has_answered = True
        value = read_object(answer)
        if value is None:
            return Reply("empty", detail="no completion")
        if failed := error_in(value, self._stopped):
            return failed
        self.has_completed = True
        return value

    def _refused(self, error: openai.APIStatusError) -> Reply:
        number, code = error.status_code, error.code
        if number == 429 and code == "insufficient_quota":
            return Reply("http_error", detail="429 insufficient_quota", stops=self._stops(f"{NO_BALANCE} (429)"))
        if number in STOPPING:
            return self._stopped(number)
        if number in (400, 413) and TOO_LONG.search(f"{error.type} {error.message}"):
            return Reply("too_long", detail=str(number))
        retry_after = retry_after_of(error.response.headers, time.time())
        return Reply(status_of(number, code), detail=str(number), retry_after=retry_after)

    def _stopped(self, number: int) -> Reply:
        """Tell a refused account from a refused text: some servers send 403 for what they have flagged."""
        if number == 403 and self.has_completed:
            return Reply("filtered", detail=str(number))
        return Reply("http_error", detail=str(number), stops=self._stops(f"{STOPPING[number]} ({number})"))

    def _unreachable(self, error: openai.APIConnectionError) -> Reply:
        """Tell a connection that was cut from an address at which nobody ever answered."""
        cause = error.__cause__
        detail, is_sent = type(cause).__name__ if cause else None, not _has_no_connection(error)
        if self.has_answered or is_sent:
            return Reply("unreachable", detail=detail, is_sent=is_sent)
        where = f"{self.entry.name} cannot be reached at {self.entry.url}"
        return Reply("unreachable", detail=detail, is_sent=False, stops=f"{where}: {str(cause) or 'no answer'}")

    def _stops(self, reason: str) -> str:
        return f"{self.entry.name} at {self.entry.url}: {reason}"

    async def close(self) -> None:
        """Let go of the connections."""
        if self.opened is not None:
            await self.opened.close()
            self.opened = None


def status_of(number: int, code: object = None) -> Status:
    """Return what an HTTP status, with the code in its body if there is one, means for a call."""
    known = BY_CODE.get(str(code)) or BY_STATUS.get(number)
    return known or ("server_error" if number >= 500 else "http_error")


def error_in(answer: Mapping[str, Any], stopped: Callable[[int], Reply]) -> Reply | None:
    """Read the error that some servers send with status 200; `stopped` tells what a status means that stops runs."""
    error = answer.get("error")
    if not error:
        return None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    if code.isdecimal() and int(code) in STOPPING:
        return stopped(int(code))
    if code in BY_CODE:
        return Reply(BY_CODE[code], detail="200")
    is_limit = code == "429" or code.startswith("rate_limit")
    return Reply("rate_limited" if is_limit else "server_error", detail="200")


def read_object(answer: object) -> dict[str, Any] | None:
    """Return the object that a server sent, also where it did not say that it is JSON."""
    try:
        value = json.loads(answer) if isinstance(answer, str) else answer
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _has_no_connection(error: openai.APIConnectionError) -> bool:
    return type(error.__cause__).__name__ in NO_CONNECTION
