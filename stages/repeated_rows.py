"""Tells rows of the source that hold the same conversation of the same user from those that hold another."""

from stages.beside import beside
from warehouse import Warehouse

SQL = beside(__file__, ".sql")


def tell_apart(db: Warehouse) -> None:
    """Make `conversations` readable as `told_apart`, with one column more.

    `kept_row` is the source_row that stays of the rows with the same hash, user and time: the row's own where it stays.
    """
    db.execute(SQL)
