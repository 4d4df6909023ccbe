"""Answers that are wrong: for each kind what is sent in place of the right completion, or how it is broken."""

import time
from collections.abc import Callable, Mapping
from email.utils import formatdate, parsedate_to_datetime
from math import ceil
from typing import Any

import orjson
from loopback_completions import Call, message_of
from loopback_http import Answer, Wire, error_answer
from loopback_plan import Plan

WIRES: Mapping[str, Wire] = {
    **{"never": "never", "cut_before": "cut_before", "reset": "reset", "cut_headers": "cut_headers"},
    **{"cut_body": "cut_body", "slow_body": "drip"},
}
CODES = {
    "400_context_length": "context_length_exceeded",
    "400_content_filter": "content_filter",
    "401": "invalid_api_key",
    "404": "model_not_found",
    "429_quota": "insufficient_quota",
}
BODIES = {
    "html": b"<html><head><title>502</title></head><body>A gateway's page</body></html>",
    "not_json": b"upstream said {nothing",
    "empty_body": b"",
    "empty_object": b"{}",
    "empty_list": b"[]",
    "error_object": b'{"error": {"message": "overloaded", "type": "server_error", "param": null, "code": null}}',
}


def status_answer(plan: Plan, kind: str) -> Answer:
    """Answer with an error status; its body says nothing of the request."""
    status = int(kind[:3])
    code = CODES.get(kind, "rate_limit_exceeded" if status == 429 else None)
    return error_answer(status, code, f"Refused as planned: {kind}", retry_headers(plan, kind))


def retry_headers(plan: Plan, kind: str) -> dict[str, str]:
    """Return the header that tells when to come again, in the form that the kind names."""
    seconds = plan.retry_after_seconds
    if kind.endswith("_date"):
        return {"Retry-After": formatdate(ceil(time.time() + seconds), usegmt=True)}
    if kind.endswith("_ms"):
        return {"retry-after-ms": f"{seconds * 1000:g}"}
    return {"Retry-After": f"{seconds:g}"} if kind.endswith("_seconds") else {}


def wait_told(headers: Mapping[str, str]) -> float:
    """Return how many seconds a client was told to wait, 0 where it was not."""
    if "retry-after-ms" in headers:
        return float(headers["retry-after-ms"]) / 1000
    told = headers.get("Retry-After", "0")
    return parsedate_to_datetime(told).timestamp() - time.time() if "GMT" in told else float(told)


def body_answer(kind: str) -> Answer:
    """Answer 200 with a body that is no completion."""
    return Answer(200, BODIES[kind], content_type="text/html" if kind == "html" else "application/json")


def bad_text(kind: str, right: str) -> str:
    """Return the text that a bad answer has in place of the right one: what it costs is counted by it."""
    return TEXTS.get(kind, _same)(right)


def bad_message(kind: str, call: Call, text: str) -> tuple[dict[str, Any], str]:
    """Return the message of a bad answer, and its finish_reason."""
    finish_reason = "tool_calls" if call.tool else "stop"
    if kind.startswith("length"):
        finish_reason = "length"
    if kind.startswith("filter"):
        finish_reason = "content_filter"
    if kind in ("content_null", "filter_null"):
        return message_of(call, None), finish_reason
    if kind == "reasoning_only":
        return message_of(call, None, reasoning_content=text), finish_reason
    if kind == "refusal":
        return message_of(call, None, refusal="I cannot help with that."), finish_reason
    return message_of(call, text), finish_reason


def break_shape(kind: str, completion: dict[str, Any]) -> dict[str, Any]:
    """Return a completion without choices, or without a message."""
    if kind == "no_choices":
        return completion | {"choices": []}
    if kind == "null_message":
        return completion | {"choices": [completion["choices"][0] | {"message": None}]}
    return completion


def _same(right: str) -> str:
    return right


def _half(right: str) -> str:
    return right[: len(right) // 2]


def _changed(right: str, change: Callable[[dict[str, Any]], str]) -> str:
    try:
        value = orjson.loads(right)
    except ValueError:
        value = {"value": right}
    return change(value if isinstance(value, dict) and value else {"value": right})


def _without_first(value: dict[str, Any]) -> str:
    return orjson.dumps({name: value[name] for name in list(value)[1:]}).decode()


def _of_wrong_type(value: dict[str, Any]) -> str:
    first = next(iter(value))
    return orjson.dumps(value | {first: 7 if isinstance(value[first], dict) else {"wrong": "type"}}).decode()


def _with_nan(value: dict[str, Any]) -> str:
    numbers = [name for name, one in value.items() if isinstance(one, int | float) and not isinstance(one, bool)]
    name = (numbers or list(value))[0]
    return orjson.dumps(value | {name: "@nan@"}).decode().replace('"@nan@"', "NaN")


TEXTS: Mapping[str, Callable[[str], str]] = {
    **{kind: lambda right: "" for kind in ("content_empty", "filter_empty")},
    "content_blank": lambda right: " \n\t ",
    **dict.fromkeys(("length_cut", "length_cured", "cut"), _half),
    "filter_text": _half,
    "prose": lambda right: "I looked at it {as asked} and found nothing to say.",
    "prose_json": lambda right: f"Here it is {{as asked}}:\n\n{right}\n\nTell me {{if}} more is wanted.",
    "fenced": lambda right: f"```json\n{right}\n```",
    "two_values": lambda right: f"{right}\n{right}",
    "missing_field": lambda right: _changed(right, _without_first),
    "wrong_type": lambda right: _changed(right, _of_wrong_type),
    "nan": lambda right: _changed(right, _with_nan),
}
