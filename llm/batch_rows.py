"""The rows of batch jobs in the ledger: written before a job is handed in, settled when it has ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm.ledger import NOW, Ending, Intent, Ledger, is_alive


@dataclass(frozen=True)
class Running:
    """A batch that has not ended as far as the ledger knows; without `job` nobody knows whether it was handed in."""

    batch: str
    job: str | None


class BatchRows:
    """Reads and writes what a ledger knows of batches. Its writes belong into a transaction."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def running(self, model: str) -> list[Running]:
        """Return the batches of a model that have not ended, the oldest first, but for those just being handed in."""
        sql = """
            select batch, job, (
                select process from calls where calls.batch = batches.batch and calls.status = 'pending' limit 1
            )
            from batches where model = ? and status <> 'ended' order by rowid
        """
        rows = self.ledger.db.execute(sql, [model]).fetchall()
        return [
            Running(batch, job)
            for batch, job, process in rows
            if job or process == self.ledger.process or not is_alive(process)
        ]

    def under_way(self) -> int:
        """Return how many jobs go on at their servers, of whatever model, until another run reads them."""
        sql = "select count(*) from batches where status = 'running'"
        count: int = self.ledger.db.execute(sql).fetchone()[0]
        return count

    def begin(self, batch: str, model: str, intents: Sequence[Intent], most_nano_usd: int | None) -> int:
        """Write a batch down with as many of its calls as the money suffices for, and return how many those are.

        For none of them there is no batch.
        """
        begun = 0
        for intent in intents:
            if self.ledger.begin(intent, most_nano_usd) is None:
                break
            begun += 1
        if begun:
            sql = f"insert into batches (batch, model, status, started_at) values (?, ?, 'preparing', {NOW})"
            self.ledger.db.execute(sql, [batch, model])
        return begun

    def handed_in(self, batch: str, job: str) -> None:
        """Write down that a batch runs, and as which job."""
        self.ledger.db.execute("update batches set job = ?, status = 'running' where batch = ?", [job, batch])

    def keys(self, batch: str) -> set[str]:
        """Return the keys of the calls of a batch that have not ended."""
        sql = "select key from calls where batch = ? and status = 'pending'"
        return {key for (key,) in self.ledger.db.execute(sql, [batch])}

    def calls(self, batch: str) -> dict[str, tuple[int, Intent]]:
        """Return the calls of a batch that have not ended, by key: each with its number, and as it was begun."""
        sql = (
            "select call, key, model, prompt, subject, held_nano_usd from calls where batch = ? and status = 'pending'"
            " order by call"
        )
        return {
            key: (call, Intent(key, model, prompt, subject, "batch", held, batch))
            for call, key, model, prompt, subject, held in self.ledger.db.execute(sql, [batch]).fetchall()
        }

    def end(self, batch: str, endings: Mapping[int, Ending]) -> None:
        """Settle the calls of a batch that has ended."""
        for call, ending in endings.items():
            self.ledger.end(call, ending)
        self._end(batch)

    def give_up(self, batch: str, why: str) -> None:
        """Write down that none of a batch's calls were made."""
        self.ledger.db.execute(
            f"update calls set status = 'cancelled', detail = ?, held_nano_usd = 0, ended_at = {NOW}"
            " where batch = ? and status = 'pending'",
            [why, batch],
        )
        self._end(batch)

    def _end(self, batch: str) -> None:
        self.ledger.db.execute("update batches set status = 'ended' where batch = ?", [batch])
