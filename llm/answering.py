"""Answers many requests under one prompt, each by calls of its own, as many at once as the provider bears."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from llm.answers import Form
from llm.attempts import Reply, Status
from llm.errors import ModelError
from llm.keys import keys_of
from llm.ledger import Intent
from llm.meter import Meter
from llm.questions import AGAIN, Outcome, Prompt, Provider, Question, Request, next_question, outcome_of

KNOWN_AT_ONCE = 256
"""How many requests are looked up in the ledger together."""

GRACE_SECONDS = 60.0
"""How long calls under way may take to end when a run has to stop."""

Item = TypeVar("Item")


class Answering(Generic[Form]):
    """The answering of many requests under one prompt, in one event loop."""

    def __init__(self, provider: Provider, meter: Meter[Outcome[Form]], prompt: Prompt, form: type[Form]) -> None:
        self.provider = provider
        self.meter = meter
        self.prompt = prompt
        self.form = form
        self.key_of = keys_of(provider, prompt, form)
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended: asyncio.Queue[Any] = asyncio.Queue()
        self.same: dict[str, asyncio.Future[Outcome[Form]]] = {}
        self.told: Callable[[int], None] = lambda answered: None
        """Told how many calls a server has answered whose answers it does not give out yet."""
        self.held: set[str] = set()
        """The calls that batch jobs of an earlier run have under way: asked once more, they would be paid for twice."""

    async def batches(
        self, items: Iterable[Item], request_of: Callable[[Item], Request]
    ) -> AsyncIterator[list[tuple[Item, Outcome[Form]]]]:
        """Give what is answered, whenever something is."""
        left = iter(items)
        while part := list(islice(left, KNOWN_AT_ONCE)):
            asked = [
                (item, request, self.key_of(request)) for item, request in ((one, request_of(one)) for one in part)
            ]
            known = self._known([key for _, _, key in asked])
            if found := [(item, known[key]) for item, _, key in asked if key in known]:
                self.meter.alarm.know(len(found))
                yield found
            for item, request, key in asked:
                if key not in known:
                    while len(self.tasks) >= self.provider.terms.concurrency:
                        yield [await self._one()]
                    self.tasks.add(asyncio.create_task(self._work(item, request, key)))
        while self.tasks or not self.ended.empty():
            yield [await self._one()]

    def _known(self, keys: Sequence[str]) -> dict[str, Outcome[Form]]:
        if not self.provider.terms.is_paid:
            return {}
        read = {key: outcome_of(Reply("ok", text), self.form) for key, text in self.meter.ledger.answers(keys).items()}
        # What an earlier version let pass may not be read any more; then it is asked for anew.
        return {key: outcome for key, outcome in read.items() if outcome.answer is not None}

    async def _one(self) -> tuple[Any, Outcome[Form]]:
        task, item, outcome = await self.ended.get()
        self.tasks.discard(task)
        if isinstance(outcome, BaseException):
            await self._let_end()
            raise outcome
        return item, outcome

    async def _let_end(self) -> None:
        """Wait for what is under way where nothing more is asked: it is paid for, and its answers are kept."""
        self.meter.is_stopping = True
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=GRACE_SECONDS)

    async def _work(self, item: object, request: Request, key: str) -> None:
        try:
            outcome: object = await self._once_a_key(request, key)
        except Exception as error:
            outcome = error
        self.ended.put_nowait((asyncio.current_task(), item, outcome))

    async def _once_a_key(self, request: Request, key: str) -> Outcome[Form]:
        """Let those who ask the same at the same time share one answer."""
        if not self.provider.terms.is_paid:  # recordings go by the subject, which is no part of a key
            return await self._answer(request, key)
        if key in self.same:
            return await asyncio.shield(self.same[key])
        if known := self._known([key]):  # answered since it was looked up with others
            return known[key]
        if key in self.held:
            raise ModelError(
                f"{self.provider.name}: batch jobs of an earlier run have some of the calls under way; "
                "run it with batch = true to have their answers, or cancel them at the provider"
            )
        self.same[key] = asyncio.ensure_future(self._answer(request, key))
        try:
            return await self.same[key]
        finally:
            del self.same[key]

    async def _answer(self, request: Request, key: str) -> Outcome[Form]:
        question: Question[Form] = Question(self.prompt, request, self.form)
        tried: dict[Status, int] = {}
        while True:
            cost = self.provider.most_nano_usd(question)
            intent = Intent(key, self.provider.name, self.prompt.name, request.subject, most_nano_usd=cost)
            reply, outcome = await self.meter.call(intent, partial(self.provider.reply, question), self._read)
            tried[outcome.status] = tried.get(outcome.status, 0) + 1
            again = next_question(question, reply, outcome, self.provider.terms)
            if again is None or tried[outcome.status] > AGAIN[outcome.status]:
                self.meter.note(outcome)
                return outcome
            question = again

    def _read(self, reply: Reply) -> Outcome[Form]:
        return outcome_of(reply, self.form)

    async def close(self, batches: AsyncIterator[object]) -> None:
        """End what is under way, and write all of it down."""
        await batches.aclose()  # type: ignore[attr-defined] # an async generator
        under_way: list[asyncio.Future[Any]] = [*self.tasks, *self.same.values()]
        for one in under_way:
            one.cancel()
        try:
            await asyncio.gather(*under_way, return_exceptions=True)
        finally:
            try:
                await self.meter.close()
            finally:
                await self.provider.close()
