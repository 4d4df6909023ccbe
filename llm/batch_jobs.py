"""The batch jobs of one model: what the ledger knows of them, and what their server does."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llm.answers import Form
from llm.attempts import Reply
from llm.batch_lines import MISSING, reply_in
from llm.batch_rows import BatchRows
from llm.insistence import RefusedError
from llm.jobs import Job, Jobs
from llm.ledger import Intent
from llm.meter import Meter
from llm.questions import Outcome
from llm.served import Served


class BatchJobs:
    """Hands calls in and settles them, each step written down before the next is taken.

    `running` holds the id of each job that has not ended, by the name of its batch in the ledger.
    """

    def __init__(self, served: Served, meter: Meter[Any], jobs: Jobs | None = None) -> None:
        self.wire = served.wire
        self.entry = served.entry
        self.factor = served.entry.price.batch_factor if served.entry.price else 1.0
        self.meter = meter
        self.jobs = jobs or Jobs()
        self.rows = BatchRows(meter.ledger)
        self.running: dict[str, str] = {}

    async def take_up(self) -> None:
        """Find the jobs that earlier runs handed in; what never came to be one is given up.

        Raises:
            ModelError: nobody knows whether a batch was handed in, and the server does not say.
        """
        for running in self.rows.running(self.entry.name):
            job = running.job or await self.jobs.find(self.wire, running.batch)
            if job is None:
                await self._give_up(running.batch, "never handed in")
            else:
                await self._note(running.batch, job)

    async def hand_in(self, batch: str, intents: Sequence[Intent], lines: Sequence[bytes]) -> int:
        """Hand in as many of these calls as the money suffices for, as one job; return how many those are.

        Raises:
            ModelError: the server does not take it, or cannot be reached.
        """
        most, model = self.meter.most_nano_usd, self.entry.name
        begun = await self.meter.scribe.write(lambda: self.rows.begin(batch, model, intents, most))
        if begun:
            try:
                job = await self.jobs.hand_in(self.wire, batch, b"\n".join(lines[:begun]))
            except RefusedError:
                await self._give_up(batch, "not taken")
                raise
            await self._note(batch, job)
        return begun

    async def look(self, batch: str) -> Job:
        """Say how far a batch is."""
        return await self.jobs.look(self.wire, batch, self.running[batch])

    async def settle(
        self, batch: str, job: Job, read: Callable[[Reply], Outcome[Form]]
    ) -> dict[str, tuple[Reply, Outcome[Form]]]:
        """Write down what came of the calls of a batch that has ended, and return it by key.

        Of a job that failed nothing came: no call of it was made.
        """
        if job.status == "failed":
            await self._give_up(batch, f"the job failed: {job.error}")
            return {}
        replies = await self.jobs.read(self.wire, job, partial(reply_in, entry=self.entry))
        calls = self.rows.calls(batch)
        came = {key: (reply, read(reply)) for key in calls for reply in [replies.get(key, MISSING)]}
        endings = {
            call: self.meter.ending_of(intent, *came[key], factor=self.factor) for key, (call, intent) in calls.items()
        }
        await self.meter.scribe.write(lambda: self.rows.end(batch, endings))
        self.meter.attempts += len(calls)
        self.running.pop(batch, None)
        return came

    async def _note(self, batch: str, job: str) -> None:
        await self.meter.scribe.write(lambda: self.rows.handed_in(batch, job))
        self.running[batch] = job

    async def _give_up(self, batch: str, why: str) -> None:
        await self.meter.scribe.write(lambda: self.rows.give_up(batch, why))
        self.running.pop(batch, None)


def as_it_came(reply: Reply) -> Outcome[Any]:
    """Read a reply whose form nobody asks for any more; whoever asks for it later reads it again."""
    is_empty = reply.status == "ok" and not reply.text.strip()
    return Outcome("empty" if is_empty else reply.status, detail=reply.detail)


async def take_in(served: Served, meter: Meter[Any], jobs: Jobs | None = None) -> set[str]:
    """Settle the jobs of a model that have ended, and return the keys of the calls that others still hold.

    Raises:
        ModelError: there are such jobs, and the server does not say how far they are.
    """
    batches = BatchJobs(served, meter, jobs)
    await batches.take_up()
    held: set[str] = set()
    for batch in list(batches.running):
        job = await batches.look(batch)
        if job.has_ended:
            await batches.settle(batch, job, as_it_came)
        else:
            held |= batches.rows.keys(batch)
    return held
