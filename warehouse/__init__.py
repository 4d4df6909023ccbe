"""The DuckDB warehouse: one table for each stage."""

from warehouse.database import Relation, Table, Warehouse, another, connect, copied, only
from warehouse.errors import AlpsbenchError, BadInputError, BusyError, DamagedError
from warehouse.home import Home, sha256_of
from warehouse.publish import publish, published_calls

__all__ = [
    "AlpsbenchError",
    "BadInputError",
    "BusyError",
    "DamagedError",
    "Home",
    "Relation",
    "Table",
    "Warehouse",
    "another",
    "connect",
    "copied",
    "only",
    "publish",
    "published_calls",
    "sha256_of",
]
