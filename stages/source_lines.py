"""Reads one line of JSON in any of WildChat's published schemas as a row of the source."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from stages.source_layout import MILLISECONDS, WRITTEN_TIME, schema_of

Row: TypeAlias = dict[str, Any]
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
ROW = pa.schema(
    [
        ("problem", pa.string()),
        ("source_schema", pa.string()),
        ("conversation_hash", pa.string()),
        ("hashed_ip", pa.string()),
        ("model", pa.string()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("language", pa.string()),
        ("country", pa.string()),
        ("toxic", pa.bool_()),
        ("redacted", pa.bool_()),
        ("conversation", pa.list_(MESSAGE)),
    ]
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def row_of(line: bytes) -> Row:
    """Read one line; a line that is no conversation gives a row with nothing but its `problem`."""
    try:
        text = line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return {"problem": "not_utf8"}
    if not text:
        return {"problem": "blank_line"}
    try:
        record = _record(text)
    except (ValueError, RecursionError):
        return {"problem": "not_json"}
    if not isinstance(record, dict):
        return {"problem": "not_an_object"}
    try:
        return dict(_fields(record))
    except (TypeError, AttributeError):
        return {"problem": "wrong_types"}


def _record(text: str) -> object:
    try:
        return orjson.loads(text)
    except (
        orjson.JSONDecodeError
    ):  # half of a surrogate pair, NaN, a number of hundreds of digits: no reason to drop it
        return json.loads(text)


def _fields(record: Row) -> Iterator[tuple[str, Any]]:
    hash, id = (_key(record.get(name)) for name in ("conversation_hash", "conversation_id"))
    yield "conversation_hash", id if hash is None else hash
    for name in ("hashed_ip", "model", "language", "country"):
        yield name, _text(record.get(name))
    for name in ("toxic", "redacted"):
        value = record.get(name)
        yield name, value if isinstance(value, bool) else None
    yield "timestamp", _time(record.get("timestamp"))
    messages = record.get("conversation")
    if not isinstance(messages, list | None):
        raise TypeError("not a list")
    yield "conversation", None if messages is None else [_message(message) for message in messages]
    of_messages = {name for message in messages or [] for name in message}
    yield "source_schema", schema_of(hash is not None, id is not None, of_messages)


def _message(message: Row) -> Row:
    return {"role": _text(message.get("role")), "content": _text(message.get("content"))}


def _text(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError("not a text")
    # JSON may hold half of a surrogate pair, which no UTF-8 file can.
    return value.encode("utf-8", "replace").decode("utf-8")


def _key(value: object) -> str | None:
    text = _text(value)
    return None if text is None or text.isspace() else text or None


def _time(value: object) -> datetime | None:
    with suppress(ValueError, OverflowError):  # there is no such day, or its year has other than four digits
        return _time_of(value)
    return None


def _time_of(value: object) -> datetime | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return EPOCH + timedelta(microseconds=round(value * (1e3 if value > MILLISECONDS else 1e6)))
    text = value.strip() if isinstance(value, str) else ""
    if not re.fullmatch(WRITTEN_TIME, text):
        return None
    time = datetime.fromisoformat(text.removesuffix(" UTC"))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
