"""Dialogues with the memories chosen from them: what the benchmark is made of."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("dialogues", "dialogue_id")


def samples(db: Warehouse) -> Relation:
    """One row a sample, in the order of selection; every other dialogue is dropped with the reason."""
    return db.sql(SQL)
