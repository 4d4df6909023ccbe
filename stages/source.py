"""Conversations in WildChat's form on disk: a file or a folder of Parquet shards and JSON lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import ConstantExpression, SQLExpression

import stages.json_lines
from stages.json_lines import parquet_of
from warehouse import BadInputError, Relation, Warehouse, connect, sha256_of

NEEDED = ("conversation_hash", "model", "timestamp", "conversation", "hashed_ip")
OPTIONAL = {"language": "varchar", "country": "varchar", "toxic": "boolean", "redacted": "boolean"}
MESSAGES = """
    list_transform(conversation, lambda m: struct_pack(role := m.role, content := m.content)) as conversation
"""
READ_ALL = """
    select sum(length(conversation::varchar)), count(conversation_hash || hashed_ip || model) from read_parquet($path)
"""
SUFFIXES = (".parquet", ".jsonl")


# Lines are converted anew when the code that reads them changes.
READER = sha256_of(Path(stages.json_lines.__file__))[:12]


@dataclass(frozen=True)
class Shard:
    """One file of a source; `name` is its path below the source, `sha256` that of its bytes."""

    name: str
    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """The shards of a source, in the order of their names. JSON lines are converted into `scratch`."""

    shards: tuple[Shard, ...]
    scratch: Path

    @property
    def identity(self) -> list[tuple[str, int, str]]:
        """What the source is, wherever it lies: name, size and SHA-256 of each shard."""
        return [(shard.name, shard.size, shard.sha256) for shard in self.shards]

    def check(self) -> None:
        """Look at the columns of the Parquet shards, which takes no time, before anything else is done.

        Raises:
            BadInputError: a Parquet file lacks needed columns, or is no Parquet file.
        """
        with connect() as db:
            for shard in self.shards:
                if shard.path.suffix == ".parquet":
                    _columns(db, shard.path, shard.name)

    def show(self, db: Warehouse) -> None:
        """Make every row of every shard readable as `source_rows`, one conversation a row.

        Columns: shard, row (from 0), source_row (both), problem (why a JSON line is no conversation, else null),
        conversation_hash, hashed_ip, model, timestamp, language, country, toxic, redacted, and
        conversation, a list of (role, content).

        Raises:
            BadInputError: a Parquet file lacks needed columns, or is no Parquet file.
        """
        scans = [self._scan(db, shard).sql_query() for shard in self.shards]
        db.execute(f"create or replace temp view source_rows as {' union all '.join(scans)}")

    def _scan(self, db: Warehouse, shard: Shard) -> Relation:
        path = shard.path
        if path.suffix == ".jsonl":
            path = parquet_of(path, self.scratch / f"{shard.sha256}-{READER}.parquet")
        columns = _columns(db, path, shard.name)
        texts = [
            "file_row_number as row",
            "shard || ':' || row as source_row",
            "problem" if "problem" in columns else "null::varchar as problem",
            *(f"{_text(name)} as {name}" for name in ("conversation_hash", "hashed_ip", "model")),
            "try_cast(timestamp as timestamptz) as timestamp",
            *(
                f"try_cast({_text(name)} as {type}) as {name}" if name in columns else f"null::{type} as {name}"
                for name, type in OPTIONAL.items()
            ),
            MESSAGES,
        ]
        rows = db.read_parquet(str(path), file_row_number=True)
        return rows.select(ConstantExpression(shard.name).alias("shard"), *map(SQLExpression, texts))

    def damaged(self) -> str | None:
        """Return the name of the first Parquet shard that cannot be read to its end, if there is one."""
        for shard in self.shards:
            with connect() as db:
                try:
                    if shard.path.suffix == ".parquet":
                        db.execute(READ_ALL, {"path": str(shard.path)}).fetchall()
                except duckdb.Error:
                    return shard.name
        return None


def _text(column: str) -> str:
    """Return SQL for a column's text without the space around it; one that is nothing but space is no value."""
    return rf"nullif(regexp_replace({column}::varchar, '^[\s\p{{Z}}]+|[\s\p{{Z}}]+$', '', 'g'), '')"


def _columns(db: Warehouse, path: Path, name: str) -> set[str]:
    try:
        described = db.execute("describe from read_parquet($path)", {"path": str(path)}).fetchall()
    except duckdb.Error:
        raise BadInputError(f"{name} is no Parquet file, or it is damaged") from None
    columns = {column: type for column, type, *_ in described}
    if missing := [column for column in NEEDED if column not in columns]:
        raise BadInputError(f"{name} lacks the columns {', '.join(missing)}; is it WildChat-1M's form?")
    message = columns["conversation"]
    if not message.endswith("[]") or not all(f'"{field}" VARCHAR' in message for field in ("role", "content")):
        raise BadInputError(f"{name}: the column conversation is not a list of messages with role and content")
    return set(columns)


def files_of(path: Path) -> Sequence[tuple[str, Path]]:
    """List the shards at `path` by name: the file itself, or every Parquet and JSONL file below a folder.

    Raises:
        BadInputError: there is no such path, or it holds nothing to read.
    """
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise BadInputError(f"{path} is neither Parquet (.parquet) nor JSON lines (.jsonl)")
        return [(path.name, path)]
    if not path.is_dir():
        raise BadInputError(f"no such file or folder: {path}")
    found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not found:
        raise BadInputError(f"{path} holds no .parquet or .jsonl file")
    return [(file.relative_to(path).as_posix(), file) for file in found]
