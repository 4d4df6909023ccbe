"""Every attempt at a model call, in SQLite: what was asked of whom, how it ended, and what is known already."""

import sqlite3
from dataclasses import astuple, dataclass
from pathlib import Path

import pyarrow as pa

from warehouse.errors import DamagedError

SCHEMA = """
    create table if not exists calls (
        key text not null, model text not null, prompt text not null, subject text not null, status text not null,
        answer text, prompt_tokens integer, completion_tokens integer, seconds real not null,
        ended_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
    );
    create index if not exists known on calls (key) where answer is not null;
"""
CALLS = pa.schema(
    [
        ("call", pa.int64()),
        *((name, pa.string()) for name in ("model", "prompt", "subject", "status")),
        *((name, pa.int64()) for name in ("prompt_tokens", "completion_tokens")),
        ("seconds", pa.float64()),
        ("ended_at", pa.string()),
    ]
)


@dataclass(frozen=True)
class Attempt:
    """One attempt. `answer` is kept where it is ok and would cost something to ask for again."""

    key: str
    model: str
    prompt: str
    subject: str
    status: str
    answer: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


class Ledger:
    """The attempts of one home; without a path, those of this process alone."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        """Open the ledger, or begin it.

        Raises:
            DamagedError: the file is no ledger any more.
        """
        self.db = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        try:
            # In WAL mode a row outlives the process as soon as it is written.
            self.db.execute("pragma journal_mode = wal")
            self.db.execute("pragma synchronous = normal")
            self.db.executescript(SCHEMA)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self.db.close()
            raise DamagedError(
                f"the ledger {path} cannot be read ({error}); move it away and build again: model calls are repeated"
            ) from None

    def add(self, attempt: Attempt) -> None:
        """Write one attempt down."""
        self.db.execute(
            "insert into calls (key, model, prompt, subject, status, answer, prompt_tokens, completion_tokens, seconds)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            astuple(attempt),
        )

    def answer(self, key: str) -> str | None:
        """Return the last ok answer that is known for a key, if any."""
        found = self.db.execute(
            "select answer from calls where key = ? and answer is not null order by rowid desc limit 1", [key]
        ).fetchone()
        return found[0] if found else None

    def table(self) -> pa.Table:
        """Return all attempts without their answers, in the order in which they ended."""
        rows = self.db.execute(
            "select rowid, model, prompt, subject, status, prompt_tokens, completion_tokens, seconds, ended_at"
            " from calls order by rowid"
        ).fetchall()
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * len(CALLS)
        return pa.table(columns, schema=CALLS)
