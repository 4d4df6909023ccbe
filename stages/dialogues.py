"""Conversations that are wanted and of the right length, with what was said in them."""

from collections.abc import Iterator
from typing import Unpack

import pyarrow as pa

from stages.beside import beside
from stages.choice import Choice, choose
from stages.item import Item
from stages.parted import Parted
from stages.source import Source
from stages.workers import HERE, Workers, streamed
from warehouse import Warehouse, connect

SQL = beside(__file__, ".sql")
ITEM = Item("conversations", "source_row")
KEPT = "from chosen where drop_reason is null"
DROPPED = "from chosen where drop_reason is not null"


def dialogues(db: Warehouse, *, source: Source, workers: Workers = HERE, **choice: Unpack[Choice]) -> Parted:
    """Keep the conversations that the choice leaves; every other one is dropped. The rows stand in no order.

    Control characters other than tabs and line breaks are no part of what was said.
    """
    choose(db, choice)
    dropped = db.sql(DROPPED)
    if workers.pieces == 1:
        source.show(db)
        return Parted(db.sql(SQL), dropped)
    return Parted(streamed(workers.each(read_bodies, kept_of(db, source), source=source)), dropped.to_arrow_table())


def kept_of(db: Warehouse, source: Source) -> Iterator[pa.Table]:
    """Give what is kept of each shard, one at least."""
    by_shard = (db.sql(f"{KEPT} and shard = $shard", params={"shard": one.name}) for one in source.shards)
    tables = [table for table in (rows.to_arrow_table() for rows in by_shard) if len(table)]
    yield from tables or [db.sql(KEPT).to_arrow_table()]


def read_bodies(piece: pa.Table, *, source: Source) -> pa.Table:
    """Read the bodies of conversations of one shard."""
    with connect() as db:
        source.only(piece["shard"].unique().to_pylist() or [source.shards[0].name]).show(db)
        db.from_arrow(piece).create("chosen")
        return db.sql(SQL).to_arrow_table()
