"""Publishes the warehouse: a read-only copy for people, with the views that they want first."""

import contextlib
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.database import ROWS_A_GROUP, Warehouse, connect, literal
from warehouse.home import Home

VIEWS = Path(__file__).with_name("views.sql")


def publish(home: Home, calls: pa.RecordBatchReader) -> None:
    """Replace the published file by a copy of the warehouse as it stands, in one rename.

    `calls` are the attempts of the ledger, without answers. A reader keeps the file that it has open.
    """
    draft = home.work / "published.partial"
    for path in (draft, _wal(draft)):
        path.unlink(missing_ok=True)
    with connect(home.warehouse) as db:
        db.execute(f"attach {literal(draft)} as published (storage_version 'v1.2.0', row_group_size {ROWS_A_GROUP})")
        db.execute("copy from database warehouse to published")
        db.execute("use published")
        db.from_arrow(calls).create("calls")
        _add_views(db)
        db.execute("use warehouse")
        db.execute("checkpoint published")
        db.execute("detach published")
    draft.chmod(0o444)
    # A log that a dead reader left beside the old file would be replayed into the new one.
    _wal(home.published).unlink(missing_ok=True)
    draft.replace(home.published)


def published_calls(home: Home) -> int:
    """Return the number of the last attempt that the published file has, 0 where it has none."""
    with connect(home.published, read_only=True) as db:
        try:
            last: int = db.execute("select coalesce(max(call), 0) from calls").fetchall()[0][0]
        except duckdb.Error:  # written before attempts had numbers
            return 0
        return last


def _add_views(db: Warehouse) -> None:
    """Make the views whose tables are built so far, with the columns that they have by now."""
    for statement in VIEWS.read_text(encoding="utf-8").split(";\n"):
        with contextlib.suppress(duckdb.CatalogException, duckdb.BinderException):
            if statement.strip():
                db.execute(statement)


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")
