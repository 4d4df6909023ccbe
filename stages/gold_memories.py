"""The memories that the benchmark takes for true."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("annotations", "memory_id")


def gold_memories(db: Warehouse) -> Relation:
    """One row a memory that nobody removed; `verified` says whether a person confirmed it."""
    return db.sql(SQL)
