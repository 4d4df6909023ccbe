"""Server-sent events: a finished completion, told as a stream is, for clients that take nothing else."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def events_of(completion: str, has_usage: bool) -> str:
    """Return a completion as the events of a stream: what each choice says, how it ends, and on demand the usage."""
    found = json.loads(completion)
    lines = [json.dumps(chunk) for chunk in _chunks(found, has_usage)]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])


def _chunks(completion: Mapping[str, Any], has_usage: bool) -> Iterator[dict[str, Any]]:
    same = {name: value for name, value in completion.items() if name not in ("choices", "usage")}
    same |= {"object": "chat.completion.chunk"} | ({"usage": None} if has_usage else {})
    for choice in completion["choices"]:
        place = {"index": choice.get("index", 0)}
        said = {**place, "delta": _delta(choice["message"]), "logprobs": choice.get("logprobs"), "finish_reason": None}
        yield {**same, "choices": [said]}
        yield {**same, "choices": [{**place, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    if has_usage:
        yield {**same, "choices": [], "usage": completion.get("usage")}


def _delta(message: Mapping[str, Any]) -> dict[str, Any]:
    delta = {name: value for name, value in message.items() if value is not None}
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
    return delta
