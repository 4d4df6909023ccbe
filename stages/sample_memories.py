"""The memories of the samples: which are chosen, in which order of samples, and why the others are not."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("memories", "memory_id")


def sample_memories(db: Warehouse, *, dialogues_per_user: int, label_cap: int, limit: int) -> Relation:
    """Choose memories about the user, no near-duplicates, of up to `limit` samples.

    Each user gives the `dialogues_per_user` dialogues richest in implicit memories. Samples with an
    implicit memory come first, else in hash order; along that order a label is taken `label_cap` times.
    """
    params = {"dialogues_per_user": dialogues_per_user, "label_cap": label_cap, "limit": limit}
    return db.sql(SQL, params=params)
