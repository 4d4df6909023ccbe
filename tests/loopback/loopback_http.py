"""The HTTP/1.1 side of the loopback server: requests in, answers out, whole or broken in the way an answer says."""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl

import orjson

Wire = Literal["whole", "never", "cut_before", "reset", "cut_headers", "cut_body", "drip"]
REASONS = {200: "OK", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


def _nothing(written: bool) -> None:
    return


@dataclass(slots=True)
class Request:
    """One request; names of headers in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Answer:
    """What to send, when, and how; `ended` is told once whether all of it was written to the client."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    wire: Wire = "whole"
    delay_seconds: float = 0.0
    drip_seconds: float = 0.0
    ended: Callable[[bool], None] = _nothing

    def head(self) -> bytes:
        """Return the status line and the headers."""
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return (
            f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Status')}\r\nContent-Type: {self.content_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n{more}\r\n"
        ).encode("latin-1")


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer with a JSON value."""
    return Answer(status, orjson.dumps(value), headers or {})


def error_answer(status: int, code: str | None, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer with an error as such servers write it."""
    return json_answer(error_body(status, code, message), status, headers)


def error_body(status: int, code: str | None, message: str) -> dict[str, Any]:
    """Return the body of an error as such servers write it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class Connection(asyncio.Protocol):
    """One kept-alive connection: one request at a time, the next is read when the answer is out."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.received = bytearray()
        self.wanted = 0
        self.current: Answer | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.is_full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(0)  # so that resume_writing says that all is written

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer:
            self.timer.cancel()
        self._end(False)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self.current and not self.timer and self.current.wire in ("whole", "drip"):
            self._end(True)
            self._next()

    def _next(self) -> None:
        while self.current is None and len(self.received) >= self.wanted and (request := self._take()):
            self.current = answer = self.answer(request)
            if answer.delay_seconds:
                self.timer = asyncio.get_running_loop().call_later(answer.delay_seconds, self._delayed)
            else:
                self._send(answer)

    def _take(self) -> Request | None:
        """Take a complete request off what was received, if there is one."""
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self.received[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.wanted = end + 4 + int(headers.get("content-length", 0))
        if len(self.received) < self.wanted:
            return None
        body = bytes(self.received[end + 4 : self.wanted])
        del self.received[: self.wanted]
        self.wanted = 0
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        return Request(method, path, dict(parse_qsl(query)) if query else {}, headers, body)

    def _delayed(self) -> None:
        self.timer = None
        if self.current:
            self._send(self.current)
            self._next()

    def _send(self, answer: Answer) -> None:
        match answer.wire:
            case "whole":
                self.transport.write(answer.head() + answer.body)
                if not self.is_full:
                    self._end(True)
            case "drip":
                self.transport.write(answer.head())
                self._drip(answer, 0)
            case "never":
                return  # until the client leaves
            case "reset":
                linger = struct.pack("ii", 1, 0)  # no time to send the rest: the other side is told of a reset
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.transport.abort()
            case cut:
                self.transport.write(_first_part(answer, cut))
                self.transport.close()

    def _drip(self, answer: Answer, sent: int) -> None:
        """Send the body byte by byte, spread over `drip_seconds`; several at a time where a byte has below 1 ms."""
        step = max(1, int(len(answer.body) / (answer.drip_seconds * 1000 or 1)))
        self.transport.write(answer.body[sent : sent + step])
        if sent + step < len(answer.body):
            pause = answer.drip_seconds * step / len(answer.body)
            self.timer = asyncio.get_running_loop().call_later(pause, self._drip, answer, sent + step)
            return
        self.timer = None
        if not self.is_full:
            self._end(True)
            asyncio.get_running_loop().call_soon(self._next)

    def _end(self, written: bool) -> None:
        if self.current:
            answer, self.current = self.current, None
            answer.ended(written)


def _first_part(answer: Answer, cut: str) -> bytes:
    head = answer.head()
    if cut == "cut_before":
        return b""
    return head[: len(head) // 2] if cut == "cut_headers" else head + answer.body[: len(answer.body) // 2]
