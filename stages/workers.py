"""Who does the work that a stage cuts into pieces: this process, or others. What comes out never depends on who."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from warehouse import Warehouse

Work = Callable[..., pa.Table]
"""A function of a module: `work(piece, **knobs)`, a table in, a table out, always the same for the same piece."""


class Workers(Protocol):
    """Do pieces of work.

    `pieces` is into how many a stage is to cut what it would rather do in one, and 1 where nobody else is at hand.
    """

    @property
    def pieces(self) -> int:
        """How many pieces of one table are worth while, at least 1."""
        ...

    def each(self, work: Work, pieces: Iterable[pa.Table], **knobs: Any) -> Iterator[pa.Table]:
        """Give what `work` makes of each piece, in the order of the pieces."""
        ...


@dataclass(frozen=True)
class Here:
    """Does one piece after the other in this process; only one is in memory at a time."""

    pieces: int = 1

    def each(self, work: Work, pieces: Iterable[pa.Table], **knobs: Any) -> Iterator[pa.Table]:
        """Give what `work` makes of each piece, in the order of the pieces."""
        for piece in pieces:
            yield work(piece, **knobs)


HERE = Here()


def pieces_of(db: Warehouse, query: str, rows: int) -> Iterator[pa.Table]:
    """Read what a query gives, about so many rows at a time; in no stated order where it joins.

    Nothing else may be asked of `db` meanwhile.
    """
    for batch in db.sql(query).to_arrow_reader(rows):
        yield pa.Table.from_batches([batch])


def count_of(db: Warehouse, rows: str) -> int:
    """Count the rows of a table, or of a query in brackets."""
    count: int = db.execute(f"select count(*) from {rows}").fetchall()[0][0]
    return count


def share_of(most: int, rows: int, workers: Workers) -> int:
    """Return how many of so many rows make a piece: `most`, or fewer where several workers want some."""
    return min(most, max(1, -(-rows // workers.pieces)))


def streamed(pieces: Iterator[pa.Table]) -> pa.RecordBatchReader:
    """Give the rows of one piece or more one after the other."""
    first = next(pieces)
    batches = (batch for piece in chain([first], pieces) for batch in piece.cast(first.schema).to_batches())
    return pa.RecordBatchReader.from_batches(first.schema, batches)


def joined(pieces: Iterable[pa.Table], schema: pa.Schema, order: str) -> pa.Table:
    """Put pieces together again in the order of a column; rows that are equal in it stay as they are in their piece."""
    return pa.concat_tables([schema.empty_table(), *pieces]).sort_by(order)
