"""Conversations in WildChat's form on disk: a file or a folder of Parquet shards and JSON lines."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa

import stages.json_lines
import stages.source_layout
import stages.source_lines
import stages.source_repair
from stages.json_lines import parquet_of
from stages.source_layout import layout_of, scan_of
from stages.source_repair import rewrite
from warehouse import BadInputError, Warehouse, connect, sha256_of

READ_ALL = """
    select sum(length(conversation::varchar)), count(conversation_hash || hashed_ip || model || language || country),
        count(timestamp), count(toxic), count(redacted)
    from source_rows
"""
PARQUET = ".parquet"
SUFFIXES = (PARQUET, ".jsonl", ".jsonl.gz")


# Shards are converted anew when the code that writes them changes.
WRITERS = (stages.json_lines, stages.source_layout, stages.source_lines, stages.source_repair)
WRITER = "".join(sha256_of(Path(str(module.__file__)))[:6] for module in WRITERS)


@dataclass(frozen=True)
class Shard:
    """One file of a source; `name` is its path below the source, `sha256` that of its bytes."""

    name: str
    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """The shards of a source, in the order of their names.

    What cannot be read as it stands is converted into `scratch`: JSON lines, and Parquet that is damaged inside.
    """

    shards: tuple[Shard, ...]
    scratch: Path

    @property
    def identity(self) -> list[tuple[str, int, str]]:
        """What the source is, wherever it lies: name, size and SHA-256 of each shard."""
        return [(shard.name, shard.size, shard.sha256) for shard in self.shards]

    def only(self, names: Collection[str]) -> "Source":
        """Return the source as if it had no other shards than these."""
        return replace(self, shards=tuple(shard for shard in self.shards if shard.name in names))

    def check(self) -> None:
        """Look at the columns of the Parquet shards, which takes no time, before anything else is done.

        Raises:
            BadInputError: a Parquet file lacks needed columns, or is no Parquet file.
        """
        with connect() as db:
            for shard in self.shards:
                if shard.path.suffix.lower() == PARQUET:
                    layout_of(db, shard.path, shard.name)

    def show(self, db: Warehouse) -> None:
        """Make every row of every shard readable as `source_rows`, one conversation a row, in the order of the shards.

        Columns: shard, row (from 0: of the Parquet file, or line), source_row (both), source_schema (`wildchat_v1`,
        `wildchat_1m` or `wildchat_4.8m`; of a row with a problem it may be null), problem (why a row or line is no
        conversation, else null), conversation_hash (in v1 its `conversation_id`), hashed_ip, model, timestamp (UTC
        where the source names no zone), language, country, toxic, redacted, and conversation, a
        list of (role, content).

        Raises:
            BadInputError: a Parquet file lacks needed columns, or is no Parquet file.
        """
        files = [(shard.name, self._parquet(shard)) for shard in self.shards]
        layouts = [
            layout_of(db, path, name, is_converted=path != shard.path)
            for shard, (name, path) in zip(self.shards, files, strict=True)
        ]
        groups = groupby(zip(files, layouts, strict=True), key=lambda one: one[1])
        scans = [scan_of([file for file, _ in group], layout) for layout, group in groups]
        db.execute(f"create or replace temp view source_rows as {' union all '.join(scans)}")

    def repair(self) -> list[str]:
        """Rewrite the Parquet shards that cannot be read to their end; return their names.

        Every shard is read for it, so this is for when reading has failed.

        Raises:
            BadInputError: nothing of a shard can be read, or what it was converted into is damaged.
        """
        damaged = [shard for shard in self.shards if not self._is_readable(shard)]
        for shard in damaged:
            self._rewrite(shard)
        return [shard.name for shard in damaged]

    def _parquet(self, shard: Shard) -> Path:
        converted = self._converted(shard)
        if shard.path.suffix.lower() != PARQUET:
            return parquet_of(shard.path, converted)
        return converted if converted.exists() else shard.path

    def _converted(self, shard: Shard) -> Path:
        return self.scratch / f"{shard.sha256}-{WRITER}.parquet"

    def _is_readable(self, shard: Shard) -> bool:
        with connect() as db:
            try:
                replace(self, shards=(shard,)).show(db)
                db.execute(READ_ALL).fetchall()
            except duckdb.Error:
                return False
        return True

    def _rewrite(self, shard: Shard) -> None:
        converted = self._converted(shard)
        if converted.exists():
            raise BadInputError(f"what {shard.name} was converted into is damaged: remove {converted}")
        with connect() as db:
            schema = layout_of(db, shard.path, shard.name).schema
        try:
            rewrite(shard.path, converted, schema)
        except (OSError, pa.ArrowException):
            raise BadInputError(f"{shard.name} is damaged, and nothing of it can be read") from None


def files_of(path: Path) -> Sequence[tuple[str, Path]]:
    """List the shards at `path` by name: the file itself, or every Parquet and JSONL file below a folder.

    Raises:
        BadInputError: there is no such path, or it holds nothing to read.
    """
    if path.is_file():
        if not _is_source(path.name):
            raise BadInputError(f"{path} is neither Parquet (.parquet) nor JSON lines (.jsonl, .jsonl.gz)")
        return [(path.name, path)]
    if not path.is_dir():
        raise BadInputError(f"no such file or folder: {path}")
    found = sorted((file.relative_to(path).as_posix(), file) for file in _below(path))
    if not found:
        raise BadInputError(f"{path} holds no .parquet, .jsonl or .jsonl.gz file")
    return found


def _below(folder: Path) -> Iterator[Path]:
    """Give every file to read below a folder, linked folders included; none is passed over in silence."""

    def refuse(error: OSError) -> None:
        raise BadInputError(f"{error.filename} cannot be read: {error.strerror}")

    seen = set()
    for place, inner, names in os.walk(folder, onerror=refuse, followlinks=True):
        seen.add(str(Path(place).resolve()))
        inner[:] = [name for name in inner if str(Path(place, name).resolve()) not in seen]
        for file in (Path(place, name) for name in names if _is_source(name)):
            if not file.exists():
                raise BadInputError(f"{file} links to nothing")
            if file.is_file():
                yield file


def _is_source(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)
