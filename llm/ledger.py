"""Every attempt at a model call, in SQLite: what was asked of whom, how it ended, what it cost, what is known."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
import tenacity

from llm.attempts import LOST, Usage
from warehouse.errors import DamagedError

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"), key=lambda path: int(path.stem))
NANO = 1_000_000_000
KEYS_AT_ONCE = 500
DETAIL_CHARACTERS = 200
CALLS = pa.schema(
    [
        ("call", pa.int64()),
        *((name, pa.string()) for name in ("model", "prompt", "subject", "way", "status", "detail")),
        *((f"{name}_tokens", pa.int64()) for name in ("prompt", "cached", "completion", "reasoning")),
        *((name, pa.float64()) for name in ("usd", "held_usd", "seconds")),
        *((name, pa.string()) for name in ("started_at", "ended_at")),
    ]
)
ROWS = f"""
    select call, model, prompt, subject, way, status, detail, prompt_tokens, cached_tokens, completion_tokens,
        reasoning_tokens, nano_usd / {NANO}.0, held_nano_usd / {NANO}.0, seconds, started_at, ended_at
    from calls order by call
"""
NOW = "strftime('%Y-%m-%dT%H:%M:%fZ')"


@dataclass(frozen=True)
class Intent:
    """An attempt before it is made. `most_nano_usd` is what it can cost at the most."""

    key: str
    model: str
    prompt: str
    subject: str
    way: str = "live"
    most_nano_usd: int = 0
    batch: str | None = None


@dataclass(frozen=True)
class Ending:
    """How an attempt ended. `answer` is kept where it is ok and would cost something to ask for again."""

    status: str
    detail: str | None = None
    answer: str | None = None
    usage: Usage = Usage()
    nano_usd: int | None = None
    held_nano_usd: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Spending:
    """Billionths of a US dollar: spent for sure, and at the most by attempts whose cost is not known."""

    nano_usd: int
    held_nano_usd: int

    @property
    def most(self) -> int:
        """What may have been spent in all."""
        return self.nano_usd + self.held_nano_usd


class Ledger:
    """The attempts of one home; without a path, those of this process alone. Several processes may write it at once."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        """Open the ledger, or begin it; attempts of processes that died are called lost.

        Raises:
            DamagedError: the file is no ledger any more.
        """
        self.path = path
        self.process = _name_of(psutil.Process())
        self.writing = threading.Lock()
        self.db = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
        try:
            # In WAL mode a row outlives the process as soon as it is committed, and with full also the machine.
            # Where two begin a ledger at one moment, one of them is told that it is locked, and has to wait.
            waiting = tenacity.Retrying(
                retry=tenacity.retry_if_exception_type(sqlite3.OperationalError),
                wait=tenacity.wait_random(0.01, 0.1),
                stop=tenacity.stop_after_delay(10),
                reraise=True,
            )
            waiting(self.db.execute, "pragma journal_mode = wal")
            self.db.execute("pragma synchronous = full")
            self._migrate()
            self.bury()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self.db.close()
            raise DamagedError(
                f"the ledger {path} cannot be read ({error}); move it away and build again: model calls are repeated"
            ) from None

    def close(self) -> None:
        """Let go of the file, and with it of the log beside it."""
        self.db.close()

    def _migrate(self) -> None:
        with self.transaction():
            version: int = self.db.execute("pragma user_version").fetchone()[0]
            for migration in MIGRATIONS[version:]:
                for statement in _statements(migration.read_text(encoding="utf-8")):
                    self.db.execute(statement)
                self.db.execute(f"pragma user_version = {int(migration.stem)}")

    def bury(self) -> None:
        """Call those pending attempts lost whose process is gone; what they may have cost stays held."""
        pending = "select distinct process from calls where status = 'pending' and way <> 'batch'"
        for (process,) in self.db.execute(pending).fetchall():
            if process != self.process and not is_alive(process):
                sql = f"update calls set status = ?, ended_at = {NOW} where status = 'pending' and process = ?"
                self.db.execute(f"{sql} and way <> 'batch'", [LOST, process])

    def transaction(self) -> "Transaction":
        """Write what follows at once or not at all."""
        return Transaction(self.db, self.writing)

    def begin(self, intent: Intent, most_nano_usd: int | None = None) -> int | None:
        """Write an attempt down before it is made and return its number; None where the money does not suffice.

        `most_nano_usd` is what the whole ledger may spend. Call it inside a transaction: others spend too.
        """
        if most_nano_usd is not None and self.spending().most + intent.most_nano_usd > most_nano_usd:
            return None
        values = (
            intent.key,
            intent.model,
            intent.prompt,
            intent.subject,
            intent.way,
            intent.most_nano_usd,
            intent.batch,
        )
        return self.db.execute(
            "insert into calls (key, model, prompt, subject, way, held_nano_usd, batch, process, status, started_at)"
            f" values (?, ?, ?, ?, ?, ?, ?, ?, 'pending', {NOW})",
            [*values, self.process],
        ).lastrowid

    def end(self, call: int, ending: Ending) -> None:
        """Write down how an attempt ended."""
        usage = ending.usage
        self.db.execute(
            "update calls set status = ?, detail = ?, answer = ?, prompt_tokens = ?, cached_tokens = ?,"
            " completion_tokens = ?, reasoning_tokens = ?, nano_usd = ?, held_nano_usd = ?, seconds = ?,"
            f" ended_at = {NOW} where call = ?",
            [ending.status, _plain(ending.detail), ending.answer, usage.prompt, usage.cached, usage.completion]
            + [usage.reasoning, ending.nano_usd, ending.held_nano_usd, ending.seconds, call],
        )

    def spending(self) -> Spending:
        """Return what was spent so far."""
        return Spending(*self.db.execute("select nano_usd, held_nano_usd from spending").fetchone())

    def pending_nano_usd(self) -> int:
        """Return what attempts under way hold until they end; those of batches, which may take a day, aside."""
        sql = "select coalesce(sum(held_nano_usd), 0) from calls where status = 'pending' and way <> 'batch'"
        held: int = self.db.execute(sql).fetchone()[0]
        return held

    def last_call(self) -> int:
        """Return the number of the attempt that began last, 0 where there is none."""
        last: int = self.db.execute("select coalesce(max(call), 0) from calls").fetchone()[0]
        return last

    def answers(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the last ok answer of each key that has one."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), KEYS_AT_ONCE):
            part = keys[start : start + KEYS_AT_ONCE]
            marks = ", ".join("?" * len(part))
            sql = f"select key, answer from calls where key in ({marks}) and answer is not null order by call"
            found.update(self.db.execute(sql, part).fetchall())
        return found

    def rows(self) -> pa.RecordBatchReader:
        """Give all attempts without their answers, in the order in which they began, some thousand at a time."""
        return pa.RecordBatchReader.from_batches(CALLS, self._parts())

    def _parts(self) -> Iterator[pa.RecordBatch]:
        cursor = self.db.execute(ROWS)
        while rows := cursor.fetchmany(20_000):
            yield pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=CALLS)


class Transaction:
    """Begins with the right to write, so that what is read inside stays true until it is committed."""

    def __init__(self, db: sqlite3.Connection, writing: threading.Lock) -> None:
        self.db = db
        self.writing = writing

    def __enter__(self) -> None:
        self.writing.acquire()
        try:
            self.db.execute("begin immediate")
        except BaseException:
            self.writing.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.db.execute("rollback" if kind else "commit")
        finally:
            self.writing.release()


def _plain(detail: str | None) -> str | None:
    """Return what a server said as something that can be kept: no lone surrogates, and not without end."""
    return detail and detail.encode("utf-8", "replace").decode()[:DETAIL_CHARACTERS]


def _name_of(process: psutil.Process) -> str:
    # A process id alone comes back with another process.
    return f"{process.pid}@{process.create_time():.2f}"


def is_alive(name: str | None) -> bool:
    """Say whether a process goes on that wrote rows under this name."""
    pid = (name or "").partition("@")[0]
    try:
        process = psutil.Process(int(pid or 0))
        return process.status() != psutil.STATUS_ZOMBIE and _name_of(process) == name
    except psutil.Error:
        return False


def _statements(sql: str) -> Iterator[str]:
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
