"""Turns JSON lines in WildChat's form into Parquet, one row a line, so that one bad line costs one row."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
ROW = pa.schema(
    [
        ("problem", pa.string()),
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
BATCH_LINES = 1000
MILLISECONDS = 1e11
"""Above this a time in numbers counts milliseconds: as seconds it would be in the year 5138."""


def parquet_of(lines: Path, parquet: Path) -> Path:
    """Write the rows of `lines` to `parquet` unless it is there already, and return it."""
    if parquet.exists():
        return parquet
    parquet.parent.mkdir(parents=True, exist_ok=True)
    draft = parquet.with_suffix(".partial")
    with lines.open("rb") as file, pq.ParquetWriter(draft, ROW) as writer:
        rows = (row_of(line) for line in file)
        while batch := list(islice(rows, BATCH_LINES)):
            writer.write_table(pa.Table.from_pylist(batch, schema=ROW))
    draft.rename(parquet)
    return parquet


def row_of(line: bytes) -> dict[str, Any]:
    """Read one line; a line that is no conversation gives a row with nothing but its `problem`."""
    try:
        text = line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return {"problem": "not_utf8"}
    if not text:
        return {"problem": "blank_line"}
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return {"problem": "not_json"}
    if not isinstance(record, dict):
        return {"problem": "not_an_object"}
    try:
        return dict(_fields(record))
    except (TypeError, ValueError, AttributeError, OverflowError, OSError):
        return {"problem": "wrong_types"}


def _fields(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("conversation_hash", "hashed_ip", "model", "language", "country"):
        yield name, _text(record.get(name))
    for name in ("toxic", "redacted"):
        value = record.get(name)
        yield name, value if isinstance(value, bool) else None
    yield "timestamp", _time(record.get("timestamp"))
    messages = record.get("conversation")
    if not isinstance(messages, list | None):
        raise TypeError("not a list")
    yield "conversation", None if messages is None else [_message(message) for message in messages]


def _message(message: dict[str, Any]) -> dict[str, str | None]:
    return {"role": _text(message.get("role")), "content": _text(message.get("content"))}


def _text(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError("not a text")
    # JSON may hold half of a surrogate pair, which no UTF-8 file can.
    return value.encode("utf-8", "replace").decode("utf-8")


def _time(value: object) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > MILLISECONDS else value
        return datetime.fromtimestamp(seconds, UTC)
    if not isinstance(value, str):
        raise TypeError("not a time")
    time = datetime.fromisoformat(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
