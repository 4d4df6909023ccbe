"""What became of each memory that people were to correct."""

import pyarrow as pa

from annotation.desk import Desk
from stages.item import Item
from warehouse import Warehouse

ITEM = Item("sample_memories", "memory_id")
COLUMNS = pa.schema([("memory_id", pa.string()), ("verdict", pa.string()), ("verified", pa.bool_())])


def annotations(db: Warehouse, *, desk: Desk) -> pa.Table:
    """One row a memory of `annotation_tasks`; with no desk configured each has the verdict `passed`."""
    ids = db.execute("select unnest(memory_ids) as memory_id from annotation_tasks order by 1").fetchall()
    made = desk.corrections([memory_id for (memory_id,) in ids])
    columns = [[one.memory_id for one in made], [one.verdict for one in made], [one.verified for one in made]]
    return pa.table(columns, schema=COLUMNS)
