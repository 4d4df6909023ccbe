"""Conversations of the right length, with what was said in them."""

from typing import Literal

from stages.beside import beside
from stages.item import Item
from stages.source import Source
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("conversations", "source_row")


def dialogues(
    db: Warehouse,
    *,
    source: Source,
    unit: Literal["dialogue", "user"],
    measure: Literal["messages", "rounds"],
    minimum: int,
    maximum: int,
) -> Relation:
    """Keep the conversations whose length is from `minimum` to `maximum`.

    With unit `dialogue` the length is the conversation's own; with unit `user` it is the sum over all
    conversations of its user. Measured in messages, or in rounds (messages of the user). A conversation
    that stands in the source again is dropped.
    """
    source.show(db)
    params = {"unit": unit, "measure": measure, "minimum": minimum, "maximum": maximum}
    return db.sql(SQL, params=params)
