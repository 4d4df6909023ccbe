"""Every conversation of the source: who, when, how long, and where its text stands."""

from contextlib import suppress

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from duckdb.sqltypes import VARCHAR

from stages.beside import beside
from stages.item import Item
from stages.languages import language_of
from stages.parted import Rows
from stages.secret import Secret
from stages.source import Source
from stages.workers import HERE, Workers, streamed
from warehouse import Relation, Warehouse, connect

SQL = beside(__file__, ".sql")
ITEM = Item("source_rows", "source_row")


def conversations(db: Warehouse, *, source: Source, secret: Secret, workers: Workers = HERE) -> Rows:
    """One row a source row, in the source's order; texts stay there, which `shard` and `row` (from 0) point into.

    A language is detected where the source names none. A conversation of a schema without users is a user of its
    own. Dropped: rows that hold no conversation.
    """
    if workers.pieces == 1:
        source.show(db)
        return _read(db, secret)
    pieces = [pa.table({"shard": [shard.name]}) for shard in source.shards]
    return streamed(workers.each(read_shard, pieces, source=source, secret=secret))


def read_shard(piece: pa.Table, *, source: Source, secret: Secret) -> pa.Table:
    """Read the conversations of one shard."""
    with connect() as db:
        source.only(piece["shard"].to_pylist()).show(db)
        return _read(db, secret).to_arrow_table()


def _read(db: Warehouse, secret: Secret) -> Relation:
    _teach_languages(db)
    return db.sql(SQL, params={"secret": secret.value})


def _teach_languages(db: Warehouse) -> None:
    """Let SQL ask for the language of a text; it asks for no row but those that name none."""
    with suppress(duckdb.InvalidInputException):  # not known yet
        db.remove_function("detected_language")
    db.create_function(
        "detected_language",
        _languages_of,
        [VARCHAR],
        VARCHAR,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _languages_of(texts: pa.Array) -> pa.Array:
    return pa.array([None if text is None else language_of(text) for text in texts.to_pylist()], pa.string())
