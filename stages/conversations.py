"""Every conversation of the source: who, when, how long, and where its text stands."""

import pyarrow as pa

from stages.beside import beside
from stages.item import Item
from stages.languages import language_of
from stages.secret import Secret
from stages.source import Source
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("source_rows", "source_row")
UNNAMED = """
    select shard, row, array_to_string(
        list_transform(list_filter(conversation, lambda m: m.role = 'user')[:8], lambda m: m.content), chr(10)
    )[:4000]
    from source_rows
    where language is null and len(conversation) > 0
"""
DETECTED = pa.schema([("shard", pa.string()), ("row", pa.int64()), ("language", pa.string())])


def conversations(db: Warehouse, *, source: Source, secret: Secret) -> Relation:
    """One row a source row; texts stay in the source, which `shard` and `row` (from 0) point into.

    A language is detected where the source names none. Dropped: rows that hold no conversation.
    """
    source.show(db)
    rows = db.execute(UNNAMED).fetchall()
    detected = [(shard, row, language_of(text)) for shard, row, text in rows]
    columns = zip(*detected, strict=True) if detected else ([], [], [])
    db.register("detected", pa.table([list(column) for column in columns], schema=DETECTED))
    return db.sql(SQL, params={"secret": secret.value})
