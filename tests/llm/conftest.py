"""Providers and a server of the OpenAI protocol that answer as a test tells them to."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import BaseModel

from llm.gateway import Prompt, Reply, Request

PROMPT = Prompt("a_stage", "Say how many.")


class Count(BaseModel):
    """The form of the answers in these tests."""

    number: int


class Paid:
    """A provider that costs something: it answers by a function of the input, after as many ticks as that says."""

    is_paid = True
    name = "paid"

    def __init__(self, answer, concurrency=4):
        self.answer = answer
        self.concurrency = concurrency
        self.identity = {"model": "paid"}
        self.asked = []
        self.closed = 0

    async def reply(self, prompt, request, form):
        self.asked.append(request.subject)
        for _ in range(request.input.get("ticks", 0)):
            await asyncio.sleep(0)
        answer = self.answer(request.input)
        return answer if isinstance(answer, Reply) else Reply("ok", answer)

    async def close(self):
        self.closed += 1


@pytest.fixture
def paid():
    return Paid


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
