"""The DuckDB warehouse: one table for each stage."""

from warehouse.database import Relation, Table, Warehouse, connect, copied, only
from warehouse.errors import AlpsbenchError, BadInputError, BusyError, DamagedError
from warehouse.home import Home, sha256_of
from warehouse.publish import publish

__all__ = [
    "AlpsbenchError",
    "BadInputError",
    "BusyError",
    "DamagedError",
    "Home",
    "Relation",
    "Table",
    "Warehouse",
    "connect",
    "copied",
    "only",
    "publish",
    "sha256_of",
]
