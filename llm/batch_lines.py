"""The lines of batch jobs: a question as it is handed in, and the reply that came of it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.completions import reply_of
from llm.jobs import ENDPOINT
from llm.wire import NO_BALANCE, STOPPING, error_in, status_of

MISSING = Reply("unreachable", detail="no line")
"""What comes of a call that has no line among the answers: nobody can tell whether it was made."""


def line_of(key: str, body: Mapping[str, Any]) -> bytes:
    """Return a call as a line; its key is what its answer is found by."""
    return orjson.dumps({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body})


def reply_in(line: Mapping[str, Any], entry: Entry) -> Reply:
    """Read what came of a call; nothing in the line is trusted to be there or to be of its type."""
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, dict):
        return Reply("server_error", detail=str(error.get("code"))) if isinstance(error, dict) else MISSING
    number, body = response.get("status_code"), response.get("body")
    if number == 200:
        if not isinstance(body, dict):
            return Reply("empty", detail="no completion")
        return error_in(body, partial(_refused, code=None, entry=entry)) or reply_of(body, entry.reasoning_fields)
    inner = body.get("error") if isinstance(body, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    return _refused(number if isinstance(number, int) else 500, code, entry)


def _refused(number: int, code: object, entry: Entry) -> Reply:
    reason = NO_BALANCE if code == "insufficient_quota" else STOPPING.get(number)
    if reason:
        return Reply("http_error", detail=str(number), stops=f"{entry.name} at {entry.url}: {reason} ({number})")
    return Reply(status_of(number, code), detail=str(number))
