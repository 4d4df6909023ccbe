"""Turns JSON lines in WildChat's form into Parquet, one row a line, so that one bad line costs one row."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from stages.source_drafts import drafted
from stages.source_lines import ROW, Row, row_of

Lines: TypeAlias = BinaryIO | gzip.GzipFile
BATCH_LINES = 10_000
BATCH_BYTES = 32_000_000
LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line, which no conversation fills, is not even held in memory."""
SKIPPED_BYTES = 2**20
CUT = (EOFError, zlib.error, gzip.BadGzipFile)


def parquet_of(lines: Path, parquet: Path, longest_line_bytes: int = LONGEST_LINE_BYTES) -> Path:
    """Write the rows of `lines`, which may be gzipped, to `parquet` unless it is there already and whole; return it.

    A line of more than `longest_line_bytes`, its end not counted, is the row `too_long`. All that cannot be unpacked
    any more is one row, `cut_gzip`.
    """
    if not _is_whole(parquet):
        with drafted(parquet) as draft, _opened(lines) as file, pq.ParquetWriter(draft, ROW) as writer:
            for batch in _batches(file, longest_line_bytes):
                writer.write_table(pa.Table.from_pylist(batch, schema=ROW))
    return parquet


def _is_whole(parquet: Path) -> bool:
    try:
        pq.read_metadata(parquet)
    except (OSError, pa.ArrowException):
        return False
    return True


@contextmanager
def _opened(lines: Path) -> Iterator[Lines]:
    with lines.open("rb") as file:
        if lines.suffix.lower() != ".gz":
            yield file
        else:
            with gzip.open(file) as unpacked:
                yield unpacked


def _batches(file: Lines, longest: int) -> Iterator[list[Row]]:
    batch, size = list[Row](), 0
    for length, row in _rows(file, longest):
        batch.append(row)
        size += length
        if len(batch) == BATCH_LINES or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _rows(file: Lines, longest: int) -> Iterator[tuple[int, Row]]:
    """Give each line as a row, with the bytes that it took."""
    try:
        while line := file.readline(longest + 1):
            is_too_long = len(line) > longest and not line.endswith(b"\n")
            if is_too_long:
                _skip_line(file)
            yield len(line), {"problem": "too_long"} if is_too_long else row_of(line)
    except CUT:
        yield 0, {"problem": "cut_gzip"}


def _skip_line(file: Lines) -> None:
    while (piece := file.readline(SKIPPED_BYTES)) and not piece.endswith(b"\n"):
        pass
