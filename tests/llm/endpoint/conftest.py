"""The gateway on loopback, in a thread, and OpenAI's own client of it."""

import threading
import time
from datetime import date

import httpx
import pytest
from openai import OpenAI

from flows.serve import Gateway, listen, url_of
from llm.catalogue import Entry, Price
from llm.endpoint import Endpoint
from llm.endpoint.upstreams import Upstreams
from llm.ledger import Ledger
from llm.pace import Patience

KEY = "sk-upstream-0123456789"
TOKEN = "token-of-the-gateway"
AT_ONCE = Patience(3, 0.0001, 0.001)


class Running:
    """A gateway in a thread; `client` is OpenAI's, `http` sends what that would not."""

    def __init__(self, upstreams):
        self.endpoint = Endpoint(upstreams, TOKEN)
        self.server = Gateway(self.endpoint)
        listening = listen("127.0.0.1", 0)
        self.url = url_of(listening)
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()
        self.client = OpenAI(base_url=self.url, api_key=TOKEN, max_retries=0)
        self.http = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        self.ledger = Ledger(upstreams.ledger)

    def say(self, text="hi", model="chatty", **more):
        """Ask for a chat completion."""
        return self.client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)

    def post(self, path="/chat/completions", **body):
        """Post a body as it is."""
        return self.http.post(path, json=body)

    def rows(self):
        """Give model, prompt, subject, way and status of each attempt."""
        return self.ledger.db.execute("select model, prompt, subject, way, status from calls order by call").fetchall()

    def stop(self):
        self.client.close()
        self.http.close()
        self.server.should_exit = True
        self.thread.join()


def start(folder, url, most_nano_usd=None, key=KEY, **more):
    """Start a gateway before the models `chatty`, whose entry `more` changes, and `vectors`."""
    chatty = {"output_tokens": 1000, "price": price_of(1.0, 2.0), **more}
    entries = [
        Entry("chatty", url, "served-chat", "UPSTREAM_KEY", **chatty),
        Entry("vectors", url, "served-vectors", "UPSTREAM_KEY", kind="embeddings", price=price_of(0.1, 0.0)),
    ]
    by_name = {entry.name: entry for entry in entries}
    ledger, variables = folder / "ledger.sqlite", {"UPSTREAM_KEY": key}
    return Running(Upstreams(by_name, variables, ledger, most_nano_usd, patience=AT_ONCE))


def price_of(input, output):
    return Price(input=input, output=output, source="a page", date=date(2026, 11, 1))


@pytest.fixture
def serve(tmp_path):
    """Start a gateway before an upstream: `serve(loopback.url, timeout_seconds=1.0)`."""
    running = []

    def serve(url, **more):
        running.append(start(tmp_path, url, **more))
        return running[-1]

    yield serve
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def standing(tmp_path_factory):
    """A gateway that has nobody to ask, for what is refused at the door."""
    running = start(tmp_path_factory.mktemp("standing"), "http://127.0.0.1:9/v1")
    yield running
    running.stop()


@pytest.fixture
def gateway(serve, loopback):
    """A gateway before the loopback server."""
    return serve(loopback.url)


@pytest.fixture
def wait_until():
    """Wait until something holds; after a minute it never will."""

    def wait(holds):
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    return wait
