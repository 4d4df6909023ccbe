"""What people are asked to correct: one task a sample."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("samples", "dialogue_id")


def annotation_tasks(db: Warehouse) -> Relation:
    """One row a task: a dialogue, and the memories to review in it."""
    return db.sql(SQL)
