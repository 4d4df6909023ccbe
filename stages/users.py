"""The people behind the conversations."""

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("conversations", "user_id")


def users(db: Warehouse) -> Relation:
    """Keep the users with at least one dialogue of the right length."""
    return db.sql(SQL)
