"""Opens the warehouse, and shows a stage the tables it may read."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import psutil

from warehouse.errors import BadInputError, BusyError, DamagedError

Warehouse = duckdb.DuckDBPyConnection
Relation = duckdb.DuckDBPyRelation
"""Rows not yet computed: what a stage returns."""

IN_MEMORY = ":memory:"
MEBIBYTES_A_CORE = 512
ROWS_A_GROUP = 8192
OPEN_HERE = (duckdb.ConnectionException, duckdb.ResourceInUseException)
"""This process has the file open already: nothing is wrong with it."""
LOGS = """
    create table if not exists builds (
        name text primary key, position integer, fingerprint text, reads text[], item text,
        items_in bigint, rows bigint, dropped bigint, seconds double, calls bigint, built_at timestamptz
    );
    create table if not exists dropped (stage text, item text, reason text, detail text);
"""


@dataclass(frozen=True)
class Table:
    """A table as the DAG knows it: its name, and a fingerprint of all that it is made of."""

    name: str
    fingerprint: str


def connect(path: str | Path = IN_MEMORY, *, read_only: bool = False, wait_seconds: float = 10) -> Warehouse:
    """Open a database; wait up to `wait_seconds` for another process to let go of it.

    Raises:
        BusyError: another process holds the file.
        BadInputError: this user may not open it.
        DamagedError: the file or its write-ahead log cannot be read.
    """
    return _patiently(path, wait_seconds, lambda: _open(path, read_only))


def _patiently(path: str | Path, wait_seconds: float, opened: Callable[[], Warehouse]) -> Warehouse:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return opened()
        except OPEN_HERE:
            raise
        except duckdb.Error as error:
            if "Permission denied" in str(error):
                raise BadInputError(f"{path} cannot be opened: permission denied") from None
            if "Could not set lock" not in str(error):
                raise DamagedError(
                    f"{path} cannot be opened ({type(error).__name__}); "
                    "remove it and its .wal, and build again: model calls already made are not repeated"
                ) from error
            if time.monotonic() > deadline:
                raise BusyError(f"another process has {path} open") from None
            time.sleep(0.1)


def _open(path: str | Path, read_only: bool) -> Warehouse:
    # A name in SQL is a table, never a Python variable: stages are functions named after tables.
    config: dict[str, str | bool | int | float | list[str]] = {"python_enable_replacements": False}
    if str(path) != IN_MEMORY:
        # What a stage reads and writes passes through; without a limit most of the machine's memory would keep copies.
        config["memory_limit"] = f"{MEBIBYTES_A_CORE * (os.cpu_count() or 1)}MiB"
    writes = not read_only and str(path) != IN_MEMORY
    db = duckdb.connect(IN_MEMORY if writes else str(path), read_only=read_only, config=config)
    if writes:
        # Only an attached file can have row groups of another size: of dialogues, the usual ones take gigabytes.
        db.execute("set temp_directory = $folder", {"folder": f"{path}.tmp"})
        db.execute(f"attach {literal(path)} as warehouse (row_group_size {ROWS_A_GROUP})")
        db.execute("use warehouse")
    db.execute("set TimeZone = 'UTC'")
    if not read_only:
        db.execute(LOGS)
    return db


def literal(path: str | Path) -> str:
    """Return a path as SQL has texts, for statements that take no parameters."""
    return "'" + str(path).replace("'", "''") + "'"


def another(db: Warehouse) -> Warehouse:
    """Return another connection to the same database, with the same names in reach."""
    catalog: str = db.execute("select current_database()").fetchall()[0][0]
    other = db.cursor()
    other.execute(f'use "{catalog}"')
    other.execute("set TimeZone = 'UTC'")
    return other


@contextmanager
def only(db: Warehouse, reads: Iterable[str]) -> Iterator[tuple[Warehouse, str]]:
    """Open a transaction in which a name means a table of `reads`; give it and the schema to write to."""
    with another(db) as transaction:
        main = f"{transaction.execute('select current_database()').fetchall()[0][0]}.main"
        transaction.begin()
        for name in reads:
            transaction.execute(f"create temp view {name} as from {main}.{name}")
        transaction.execute("set search_path = 'temp'")
        yield transaction, main
        transaction.commit()


@contextmanager
def copied(
    path: Path, reads: Iterable[str], *, folder: Path | None = None, wait_seconds: float = 10
) -> Iterator[Warehouse]:
    """Give a database of its own that holds copies of `reads`, so that the warehouse is free meanwhile.

    It is a file, since dialogues need not fit in memory: in `folder`, or where temporary files are.

    Raises:
        BusyError: another process holds the file for longer than `wait_seconds`.
        DamagedError: the file or its write-ahead log cannot be read.
    """
    if folder:
        remove_copies_of_the_dead(folder)
    with (
        TemporaryDirectory(prefix=f"copy-{os.getpid()}-", dir=folder) as place,
        connect(Path(place) / "copy.duckdb") as db,
    ):
        _patiently(path, wait_seconds, lambda: db.execute(f"attach {literal(path)} as original (read_only)"))
        for name in reads:
            db.execute(f"create table {name} as from original.main.{name}")
        db.execute("detach original")
        yield db


def remove_copies_of_the_dead(folder: Path) -> None:
    """Remove the copies of processes that were killed."""
    for copy in folder.glob("copy-*"):
        if not psutil.pid_exists(int(copy.name.split("-")[1])):
            shutil.rmtree(copy, ignore_errors=True)
