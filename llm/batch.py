"""Answers many requests under one prompt by batch jobs, and takes those up again that an earlier run handed in."""

import secrets
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar, cast

from llm.answering import KNOWN_AT_ONCE, Answering
from llm.answers import Form
from llm.attempts import PASSING, Reply, Status
from llm.batch_jobs import BatchJobs, as_it_came
from llm.batch_lines import line_of
from llm.errors import ModelError
from llm.jobs import Job
from llm.ledger import Intent
from llm.meter import Meter
from llm.questions import AGAIN, Outcome, Prompt, Provider, Question, Repair, Request, next_question
from llm.served import Served

ROUNDS = 4
"""How often a call that failed in passing is handed in once more."""
TOO_MUCH = ("token_limit_exceeded", "too_many_tasks")
"""What a server says of a job that is more than the account may have waiting at once."""

Item = TypeVar("Item")
Pairs = list[tuple[Any, Outcome[Form]]]


@dataclass
class Open:
    """A call that is not answered yet, with all the items that wait for it, and how it is to be asked next."""

    items: list[Any] = field(default_factory=list)
    is_larger: bool = False
    repair: Repair | None = None
    tried: Counter[Status] = field(default_factory=Counter)


class BatchAnswering(Answering[Form]):
    """The answering of many requests by batch jobs.

    The items are in memory until they are answered; the requests are made anew whenever they are handed in, and only
    one job's lines are in memory at once.
    """

    def __init__(self, provider: Provider, meter: Meter[Outcome[Form]], prompt: Prompt, form: type[Form]) -> None:
        super().__init__(provider, meter, prompt, form)
        self.served = cast(Served, provider)
        self.jobs = BatchJobs(self.served, meter, self.served.batch_jobs)
        self.open: dict[str, Open] = {}
        self.ends: list[Status] = []
        self.room = sys.maxsize
        """How many calls the server lets wait at once, as far as it has said."""
        self.waiting = 0
        """How many calls of this round are with the server."""

    async def batches(
        self, items: Iterable[Item], request_of: Callable[[Item], Request]
    ) -> AsyncIterator[list[tuple[Item, Outcome[Form]]]]:
        """Give what is answered, job by job."""
        self.request_of: Callable[[Any], Request] = request_of
        for known in self._sorted(items):
            yield known
        if self.open:
            await self.jobs.take_up()
        while self.open:
            await self._hand_in()
            async for pairs in self._ended():
                yield pairs

    def _sorted(self, items: Iterable[Any]) -> Iterator[Pairs[Form]]:
        """Give what is known, and keep what is open."""
        left = iter(items)
        while part := list(islice(left, KNOWN_AT_ONCE)):
            keys = [self.key_of(self.request_of(item)) for item in part]
            known = self._known(keys)
            for key, item in zip(keys, part, strict=True):
                if key not in known:
                    self.open.setdefault(key, Open()).items.append(item)
            if found := [(item, known[key]) for key, item in zip(keys, part, strict=True) if key in known]:
                self.meter.alarm.know(len(found))
                yield found

    async def _hand_in(self) -> None:
        """Hand in the open calls that no job holds, as far as the server and the money let them."""
        held = {key for batch in self.jobs.running for key in self.jobs.rows.keys(batch)}
        self.waiting = len(held & self.open.keys())
        left = [key for key in self.open if key not in held][: max(0, self.room - self.waiting)]
        while left:
            batch = secrets.token_hex(12)
            intents, lines = self._lines(left, batch)
            begun = await self.jobs.hand_in(batch, intents, lines)
            self.waiting += begun
            if begun < len(intents):
                break
            left = left[begun:]

    def _lines(self, keys: Sequence[str], batch: str) -> tuple[list[Intent], list[bytes]]:
        """Return the lines of one job: those of the first keys, as many as it takes."""
        intents: list[Intent] = []
        lines: list[bytes] = []
        size = 0
        for key in keys[: self.jobs.jobs.calls]:
            question = self._question(key)
            line = line_of(key, self.served.body(question))
            size += len(line) + 1
            if lines and size > self.jobs.jobs.size_bytes:
                break
            lines.append(line)
            intents.append(self._intent(key, question, batch))
        return intents, lines

    def _question(self, key: str) -> Question[Form]:
        one = self.open[key]
        return Question(self.prompt, self.request_of(one.items[0]), self.form, one.is_larger, one.repair)

    def _intent(self, key: str, question: Question[Form], batch: str | None = None) -> Intent:
        most = self.provider.most_nano_usd(question)
        return Intent(key, self.provider.name, self.prompt.name, question.request.subject, "batch", most, batch)

    async def _ended(self) -> AsyncIterator[Pairs[Form]]:
        """Read the jobs as they end, until there are none left that hold open calls.

        Where there is no money for any, those are waited for that hold it: their calls are not asked for any more.

        Raises:
            BudgetError: there are none of those either.
        """
        wanted = {batch for batch in self.jobs.running if self._is_open(batch)} or set(self.jobs.running)
        if not wanted:
            key = next(iter(self.open))
            raise self.meter.over(self._intent(key, self._question(key)))
        while not wanted.isdisjoint(self.jobs.running):
            answered = 0
            for batch in list(self.jobs.running):
                job = await self.jobs.look(batch)
                if not job.has_ended:
                    answered += job.answered if batch in wanted else 0
                elif pairs := await self._settled(batch, job):
                    yield pairs
            if not wanted.isdisjoint(self.jobs.running):
                self.told(answered)
                await self.jobs.jobs.wait()

    def _is_open(self, batch: str) -> bool:
        return not self.open.keys().isdisjoint(self.jobs.rows.keys(batch))

    async def _settled(self, batch: str, job: Job) -> Pairs[Form]:
        """Settle a job that has ended; those of its calls that may be answered yet stay open.

        Raises:
            ModelError: going on would not help.
        """
        if not self._is_open(batch):
            await self.jobs.settle(batch, job, as_it_came)
            return []
        came = await self.jobs.settle(batch, job, self._read)
        pairs = [pair for key, one in came.items() if key in self.open for pair in self._answered(key, *one)]
        self._stop_where_hopeless(job, [reply for reply, _ in came.values()])
        return pairs

    def _answered(self, key: str, reply: Reply, outcome: Outcome[Form]) -> Pairs[Form]:
        one, status = self.open[key], outcome.status
        if outcome.answer is None:
            one.tried[status] += 1
            question = self._question(key)
            is_passing = status in PASSING
            again = question if is_passing else next_question(question, reply, outcome, self.provider.terms)
            if again is not None and one.tried[status] <= AGAIN.get(status, ROUNDS):
                one.is_larger, one.repair = again.is_larger, again.repair
                return []
        del self.open[key]
        self.ends += [status] * len(one.items)
        return [(item, outcome) for item in one.items]

    def _stop_where_hopeless(self, job: Job, replies: Sequence[Reply]) -> None:
        kept = "the answers so far are kept"
        if reason := next((reply.stops for reply in replies if reply.stops), None):
            raise ModelError(f"{reason}; {kept}")
        if job.status == "cancelled":
            raise ModelError(
                f"{self.provider.name}: a batch job was cancelled; {kept}: run it again to ask for the rest"
            )
        if job.status == "failed":
            # What else is under way may be what leaves no room for it.
            if job.error not in TOO_MUCH or self.waiting <= 1:
                raise ModelError(f"{self.provider.name}: a batch job failed ({job.error}); {kept}")
            self.room = max(1, self.waiting // 2)
        # All calls of the run count, not the last ones: in batches those that always fail come together, at the end.
        self.meter.alarm.note_all(self.ends)
        self.ends.clear()
