"""The people behind the conversations."""

from stages.beside import beside
from stages.item import Item
from stages.repeated_rows import tell_apart
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("conversations", "user_id")


def users(db: Warehouse) -> Relation:
    """Keep the users with at least one dialogue; rows that repeat another count once."""
    tell_apart(db)
    return db.sql(SQL)
