"""Providers and a server of the OpenAI protocol that answer as a test tells them to."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from filelock import FileLock
from loopback_process import Loopback
from pydantic import BaseModel

from llm.attempts import Reply
from llm.catalogue import Price
from llm.ledger import Ledger
from llm.meter import Terms
from llm.pace import Pace, Patience
from llm.questions import Prompt, Request

PROMPT = Prompt("a_stage", "Say how many.")


class Count(BaseModel):
    """The form of the answers in these tests."""

    number: int


class Paid:
    """A provider that costs something: it answers by a function of the input, after as many ticks as that says.

    Each call may cost `cost` billionths of a dollar; it is tried again after pauses that nobody notices.
    """

    name = "paid"

    def __init__(self, answer, concurrency=4, cost=0, **terms):
        self.answer = answer
        self.cost = cost
        self.identity = {"model": "paid"}
        self.terms = Terms(
            **{"is_paid": True, "pace": Pace(concurrency), "patience": Patience(8, 0.0001, 0.001), **terms}
        )
        self.questions = []
        self.closed = 0
        self.at_once = self.most_at_once = 0

    @property
    def asked(self):
        return [question.request.subject for question in self.questions]

    async def reply(self, question):
        self.questions.append(question)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        for _ in range(question.request.input.get("ticks", 0)):
            await asyncio.sleep(0)
        self.at_once -= 1
        answer = self.answer(question.request.input)
        return answer if isinstance(answer, Reply) else Reply("ok", answer)

    def most_nano_usd(self, question):
        return self.cost

    async def close(self):
        self.closed += 1


@pytest.fixture
def paid():
    return Paid


@pytest.fixture
def in_turn():
    """Answer each call with the next of some replies, the last one for ever: `paid(in_turn("no", "yes"))`."""

    def of(*replies):
        left = list(replies)
        return lambda input: left.pop(0) if len(left) > 1 else left[0]

    return of


@pytest.fixture
def prompt():
    return PROMPT


@pytest.fixture
def count():
    return Count


@pytest.fixture
def requests():
    """Give so many requests, named s0, s1, ..., whose input holds their number."""
    return lambda total, **more: [Request(f"s{number}", {"number": number, **more}) for number in range(total)]


@pytest.fixture
def price():
    """Give a price in dollars per million tokens, of input and output."""
    return lambda input, output: Price(input=input, output=output, source="a page", date=date(2026, 11, 1))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def rows_of():
    """Give the rows of a ledger as it publishes them, or some of their columns."""

    def rows(ledger, *names):
        found = ledger.rows().read_all().to_pylist()
        return [tuple(row[name] for name in names) for row in found] if names else found

    return rows


@pytest.fixture
def endings(rows_of):
    """Give subject and status of each attempt, in the order in which they began."""
    return lambda ledger: rows_of(ledger, "subject", "status")


class Server:
    """Answers each call with the next of `answers`, the last one for ever; keeps what it was sent in `calls`."""

    def __init__(self):
        self.answers = []
        self.calls = []
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def will(self, *answers):
        self.answers = list(answers)
        self.calls.clear()

    def _next(self, headers, body):
        with self.lock:
            self.calls.append((headers, body))
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def _handler(server):  # noqa: N805 # `self` is the handler below
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, text = server._next(self._told(), body)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def _told(self):
                return {name.lower(): value for name, value in self.headers.items()} | {"path": self.path}

            def log_message(self, *_):
                return

        return Handler


class Answers:
    """What a server may answer: status, headers and body."""

    @staticmethod
    def says(content, finish_reason="stop", **message):
        """Answer with a completion."""
        message = {"role": "assistant", "content": content, **message}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        completion = {"id": "x", "object": "chat.completion", "created": 1, "model": "served", "usage": usage}
        return 200, {}, json.dumps(completion | {"choices": [choice]})

    @staticmethod
    def fails(status, code=None, **headers):
        """Answer with an error, as such servers write it; `headers` with _ for -."""
        error = {"error": {"message": "SERVER TEXT", "type": "error", "code": code}}
        return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(error)

    @staticmethod
    def cut():
        """Answer with the first half of a completion, and close the connection."""
        status, _, text = Answers.says('{"number": 1}')
        return status, {"Content-Length": str(len(text))}, text[: len(text) // 2]

    @staticmethod
    def raw(text, content_type="application/json"):
        """Answer 200 with any body."""
        return 200, {"Content-Type": content_type}, text


@pytest.fixture(scope="session")
def started_server():
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture
def server(started_server):
    """Give the server: `server.will(answers.says("..."), answers.fails(500))`, then look at `server.calls`."""
    started_server.will(Answers.fails(500))
    return started_server


@pytest.fixture
def answers():
    return Answers


@pytest.fixture(scope="session")
def once(tmp_path_factory, worker_id):
    """Make something that takes long once for all workers: `once("name", make)` keeps the JSON that `make` gives."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def do(name, make):
        path = shared / f"{name}.json"
        with FileLock(shared / f"{name}.lock"):
            if not path.exists():
                path.write_text(json.dumps(make()), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return do


@pytest.fixture(scope="session")
def started_loopback():
    with Loopback() as server:
        yield server


@pytest.fixture
def loopback(started_loopback):
    """Give the server of many faults, in a process of its own: `loopback.plan(script={"*": "never"})`."""
    started_loopback.plan()
    started_loopback.reset()
    return started_loopback


class Asker:
    """A process that asks the loopback server; see ask_loopback.py for what it can be told."""

    def __init__(self, told):
        command = [sys.executable, str(Path(__file__).with_name("ask_loopback.py")), json.dumps(told)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def told(self):
        """Wait for its end and give what it tells."""
        output, errors = self.process.communicate(timeout=120)
        assert (self.process.returncode, errors) == (0, "")
        return json.loads(output)


@pytest.fixture
def start_asking(loopback, ledger):
    """Start a process that asks through the ledger of the test: `start_asking(total=9).told()`."""
    askers = []

    def start(**told):
        askers.append(Asker({"url": loopback.url, "ledger": str(ledger.path), **told}))
        return askers[-1]

    yield start
    for asker in askers:
        asker.process.kill()
        asker.process.communicate()


@pytest.fixture
def wait_for(loopback):
    """Wait until the loopback server has seen so many attempts, or the process is at its end."""

    def wait(attempts, asker):
        while loopback.totals()["attempts"] < attempts and asker.process.poll() is None:
            time.sleep(0.01)

    return wait
