"""Fixtures shared by every test."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from llm.gateway import Free, Model, Question, Reply, Request
from warehouse import Warehouse, connect

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
Given = Callable[..., Warehouse]


@pytest.fixture
def given() -> Given:
    """Draw the tables a stage reads: `given(people='''id | age::integer ...''')`.

    A column is text unless its header names a DuckDB type after `::`; nested cells are written as DuckDB
    prints them, such as `[{'role': user, 'text': hi}]`. An empty cell is null, and `''` the empty text.
    """
    db = connect()

    def make(**drawings: str) -> Warehouse:
        for name, drawing in drawings.items():
            header, _, *lines = drawing.strip().splitlines()
            columns = [cell.strip().partition("::") for cell in header.split("|")]
            rows = [[cell.strip() for cell in line.split("|")] for line in lines]
            texts = {column: [_text(row[place]) for row in rows] for place, (column, *_) in enumerate(columns)}
            drawn = pa.table(texts, schema=pa.schema([(column, pa.string()) for column, *_ in columns]))
            casts = ", ".join(f'"{column}"::{type or "varchar"} as "{column}"' for column, _, type in columns)
            db.from_arrow(drawn).select(casts).create(name)
        return db

    return make


def _text(cell: str) -> str | None:
    return None if cell == "" else "" if cell == "''" else cell


class Says(Free):
    """A provider that answers each request by a function of its input, or always the same."""

    def __init__(self, answer: object, name: str = "says") -> None:
        self.answer = answer
        self.name = name
        self.identity: Mapping[str, str] = {"says": name}
        self.requests: list[Request] = []

    async def reply(self, question: Question[Any]) -> Reply:
        self.requests.append(question.request)
        answer = self.answer(question.request.input) if callable(self.answer) else self.answer
        if isinstance(answer, Reply):
            return answer
        return Reply("ok", answer if isinstance(answer, str) else json.dumps(answer))


@pytest.fixture
def model_says() -> Callable[..., Model]:
    """Give a model that answers so: `model_says({"memory_items": []})`, or a function of the input."""
    return lambda answer, name="says": Model(Says(answer, name))
