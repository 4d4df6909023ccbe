"""Identifies what a table is made of: the stage's files, the modules they name, the knobs, the tables read."""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from flows.modules import ROOT, Piece, code_pieces
from warehouse import Table


@dataclass(frozen=True)
class MadeOf:
    """All that a table is made of: files of code, libraries, those of its contract, the tables read, the knobs."""

    code: Sequence[Piece]
    contract: Sequence[Piece] | None
    reads: Sequence[Piece]
    knobs: Mapping[str, object]

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits for all of it; names of files do not count."""
        parts = [
            [piece.value for piece in self.code],
            None if self.contract is None else [piece.value for piece in self.contract],
            [(piece.name, piece.value) for piece in self.reads],
            self.knobs,
        ]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def pieces(self) -> list[Piece]:
        """Each thing by itself, a knob of several values value by value, as JSON."""
        return [*self.code, *(self.contract or ()), *self.reads, *_leaves("", self.knobs)]


def fingerprint(stage: Callable[..., object], reads: Sequence[Table], knobs: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits for all that the stage's table depends on.

    Raises:
        TypeError: as in `made_of`.
    """
    return made_of(stage, reads, knobs).fingerprint


def made_of(stage: Callable[..., object], reads: Sequence[Table], knobs: Mapping[str, Any]) -> MadeOf:
    """Return all that the stage's table depends on.

    A knob counts by its value or, where it has one, by its `identity`.

    Raises:
        TypeError: a knob is of a type whose value does not stand still.
    """
    contract = ROOT / "expectations" / f"{stage.__name__}.py"
    return MadeOf(
        code_pieces(Path(inspect.getfile(stage)).resolve(), "code"),
        code_pieces(contract, "contract") if contract.exists() else None,
        [Piece("table", table.name, table.fingerprint) for table in reads],
        {name: _plain(knob) for name, knob in knobs.items()},
    )


def _leaves(name: str, value: object) -> Iterator[Piece]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{name}.{key}".lstrip("."), one)
    else:
        yield Piece("knob", name, json.dumps(value, ensure_ascii=False))


def _plain(knob: object) -> object:
    if hasattr(knob, "identity"):
        return _plain(knob.identity)
    if isinstance(knob, BaseModel):
        return _plain(knob.model_dump())
    if knob is None or isinstance(knob, bool | int | float | str):
        return knob
    if isinstance(knob, date):
        return knob.isoformat()
    if isinstance(knob, list | tuple):
        return [_plain(one) for one in knob]
    if isinstance(knob, Mapping):
        return {str(name): _plain(one) for name, one in knob.items()}
    raise TypeError(f"a knob of type {type(knob).__name__} has no value that stands still")
