"""Writes down what can be read of a damaged Parquet file, each row in its place."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stages.source_drafts import drafted
from stages.source_layout import READ

BATCH_ROWS = 1000


def rewrite(damaged: Path, parquet: Path, schema: str) -> None:
    """Write every row of `damaged` to `parquet`, one that cannot be read with nothing but its `problem`.

    A row with text that is not UTF-8 is `not_utf8`. Where a part of a row group cannot be read, the rows from there
    to the group's end are `damaged`; the footer tells how many. Columns are those that are read of a source, as they
    are there; `schema` is the published schema of the file, which each row is said to have.

    Raises:
        OSError: the footer cannot be read.
        pyarrow.ArrowException: likewise.
    """
    with pq.ParquetFile(damaged, page_checksum_verification=True) as file, drafted(parquet) as draft:
        columns = _columns_of(file)
        told = pa.schema([*columns, ("problem", pa.string()), ("source_schema", pa.string())])
        with pq.ParquetWriter(draft, told) as writer:
            for group in range(file.num_row_groups):
                for rows, problems in _read(file, group, columns):
                    schemas = pa.array([schema] * len(rows), pa.string())
                    writer.write_batch(pa.record_batch([*rows.columns, problems, schemas], schema=told))


def _read(file: pq.ParquetFile, group: int, columns: pa.Schema) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Give a row group in batches, each with what is wrong with its rows."""
    left = file.metadata.row_group(group).num_rows
    try:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=_paths(file)):
            yield _checked(batch)
            left -= len(batch)
    except (OSError, pa.ArrowException):
        nothing = pa.record_batch([pa.nulls(left, column.type) for column in columns], schema=columns)
        yield nothing, pa.array(["damaged"] * left, pa.string())


def _checked(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
    good = [_is_text(batch, row) for row in range(len(batch))]
    places = pa.array([row if is_good else None for row, is_good in enumerate(good)], pa.int64())
    return batch.take(places), pa.array([None if is_good else "not_utf8" for is_good in good], pa.string())


def _is_text(batch: pa.RecordBatch, row: int) -> bool:
    try:
        for column in batch.columns:
            if not pa.types.is_temporal(column.type):
                column[row].as_py()
    except UnicodeDecodeError:
        return False
    return True


def _columns_of(file: pq.ParquetFile) -> pa.Schema:
    """Return the columns that are read, as they come in batches; any may be null."""
    schema = file.read_row_groups([], columns=_paths(file)).schema
    return pa.schema([(column.name, column.type) for column in schema])


def _paths(file: pq.ParquetFile) -> list[str]:
    """Return the columns that are read, of the messages no more than role and content."""
    paths = [file.schema.column(place).path for place in range(len(file.schema))]
    return [path for path in paths if path in READ or _is_said(path.split("."))]


def _is_said(path: list[str]) -> bool:
    """Say whether a path is `conversation.list.element.role` or `.content`; writers differ in the middle."""
    return len(path) == 4 and path[0] == "conversation" and path[-1] in ("role", "content")
