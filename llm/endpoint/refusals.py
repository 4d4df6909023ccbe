"""What a client is told instead of an answer, in the form that clients of the OpenAI protocol read."""

from collections.abc import Mapping
from typing import Any

from llm.attempts import PASSING, Reply, Status

FAILURES: Mapping[Status, tuple[int, str]] = {
    "rate_limited": (429, "rate_limit_exceeded"),
    "timeout": (504, "upstream_timeout"),
    "server_error": (502, "upstream_error"),
    "unreachable": (502, "upstream_unreachable"),
    "empty": (502, "upstream_error"),
    "too_long": (400, "context_length_exceeded"),
    "filtered": (400, "content_filter"),
}


class RefusedError(Exception):
    """A request without an answer: a status of HTTP, a code for programs and a sentence for people.

    Nothing in it is of a message or a key. `is_final` tells clients that trying again is of no use: what may pass, the
    gateway has waited for.
    """

    def __init__(self, status: int, code: str, message: str, param: str | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.is_final = is_final

    @property
    def body(self) -> dict[str, Any]:
        """The error as the protocol writes it."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    @property
    def headers(self) -> dict[str, str]:
        """The header that OpenAI's clients ask whether to try again."""
        return {"x-should-retry": "false"} if self.is_final else {}


def refusal_of(name: str, reply: Reply) -> RefusedError:
    """Tell how a call of the model `name` failed for good."""
    detail = reply.detail or ""
    given = int(detail) if detail.isdecimal() and detail >= "400" else 502
    status, code = FAILURES.get(reply.status, (given, "upstream_error"))
    message = f"the upstream of {name} gave no answer: {reply.status.replace('_', ' ')}{detail and f' ({detail})'}"
    return RefusedError(status, code, message, is_final=reply.status in PASSING)


def stop_of(reason: str, last: Reply | None) -> RefusedError:
    """Tell why a model cannot be used at all: its server refuses the gateway's own key, or is not there."""
    status = last.status if last else "http_error"
    if status in FAILURES:
        number, code = FAILURES[status]
        return RefusedError(number, code, f"upstream: {reason}", is_final=True)
    return RefusedError(502, "upstream_refused", f"the upstream refuses the gateway, not you: {reason}", is_final=True)


def wrong(message: str, param: str | None = None, code: str = "invalid_request") -> RefusedError:
    """Tell what is wrong with a request."""
    return RefusedError(400, code, message, param)
