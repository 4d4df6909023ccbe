"""The items of task 1: dialogues to extract memories from."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("targets", "target_id", "kind = 'extraction'")


def extraction_items(db: Warehouse) -> Relation:
    """One row an item: the dialogue, and the gold memories of it."""
    return db.sql(SQL)
