"""The items of task 4: queries whose good answer depends on a memory, by five abilities."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("targets", "target_id", "kind not in ('extraction', 'update', 'retrieval')")


def utilization_items(db: Warehouse) -> Relation:
    """One row an item: PA shows the memory, the other abilities show the dialogue that it comes from."""
    return db.sql(SQL)
