"""One call at a time, metered: written down before it is sent, paced, tried again while that may help, settled."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from llm.attempts import UNCHARGED, UNSEEN, Reply, Status
from llm.catalogue import Price
from llm.errors import BudgetError, ModelError
from llm.ledger import NANO, Ending, Intent, Ledger
from llm.money import cost_of
from llm.pace import Alarm, Pace, Patience
from llm.scribe import Scribe

POLL_SECONDS = 0.1
"""How often a call that waits for money looks whether others have settled."""


class Ended(Protocol):
    """What an attempt is read as."""

    @property
    def status(self) -> Status: ...

    @property
    def detail(self) -> str | None: ...


Outcome = TypeVar("Outcome", bound=Ended)


@dataclass(frozen=True)
class Terms:
    """How a provider is dealt with: free ones cost nothing, never fail in passing, and their answers are not kept."""

    is_paid: bool = False
    price: Price | None = None
    input_tokens: int | None = None
    has_larger_limit: bool = False
    is_batched: bool = False
    pace: Pace = field(default_factory=lambda: Pace(16))
    patience: Patience = field(default_factory=lambda: Patience(attempts=1))

    @property
    def concurrency(self) -> int:
        """The most calls at once."""
        return self.pace.most


class Meter(Generic[Outcome]):
    """Sends attempts of one provider in one event loop."""

    def __init__(self, ledger: Ledger, terms: Terms, most_nano_usd: int | None = None) -> None:
        """Meter into a ledger whose whole spending may not pass `most_nano_usd`.

        Raises:
            BudgetError: there is a limit, and nobody knows what the provider costs.
        """
        if most_nano_usd is not None and terms.is_paid and terms.price is None:
            raise BudgetError("a budget is set, but the catalogue has no price for the model: give it one there")
        self.ledger = ledger
        self.terms = terms
        self.most_nano_usd = most_nano_usd
        self.scribe = Scribe(ledger)
        self.alarm = Alarm()
        self.attempts = 0
        self.is_stopping = False
        """Whether no more attempts are to be made."""
        self.unmade: set[asyncio.Future[int | None]] = set()
        """Rows that are being written for attempts which were cancelled meanwhile."""

    async def call(
        self, intent: Intent, send: Callable[[], Awaitable[Reply]], read: Callable[[Reply], Outcome]
    ) -> tuple[Reply, Outcome]:
        """Send until there is an answer, or a failure that does not pass; each attempt is a row.

        Raises:
            BudgetError: the money does not suffice for another attempt.
            ModelError: the provider cannot be used at all.
        """

        async def once() -> tuple[Reply, Outcome]:
            async with self.terms.pace.turn():
                reply, outcome = await self._attempt(intent, send, read)
            if reply.stops:
                raise ModelError(reply.stops)
            self.terms.pace.note(reply)
            return reply, outcome

        retrying = self.terms.patience.retrying(lambda ended: ended[0], lambda: self.is_stopping)
        return await (retrying(once) if self.terms.is_paid else once())

    async def _attempt(
        self, intent: Intent, send: Callable[[], Awaitable[Reply]], read: Callable[[Reply], Outcome]
    ) -> tuple[Reply, Outcome]:
        call = await self._begin(intent)
        started = time.monotonic()
        try:
            reply = await send()
            outcome = read(reply)
        except BaseException:
            # Stopped by a person or by another call's failure: what this attempt cost is not known.
            seconds = time.monotonic() - started
            ending = Ending("cancelled", held_nano_usd=intent.most_nano_usd, seconds=seconds)
            await asyncio.shield(self.scribe.post(lambda: self.ledger.end(call, ending)))
            raise
        self.attempts += 1
        ending = self.ending_of(intent, reply, outcome, time.monotonic() - started)
        await self.scribe.write(lambda: self.ledger.end(call, ending))
        return reply, outcome

    def ending_of(
        self, intent: Intent, reply: Reply, outcome: Outcome, seconds: float | None = None, factor: float = 1.0
    ) -> Ending:
        """Say how an attempt ended, and what it cost."""
        status = outcome.status
        cost = cost_of(self.terms.price, reply.usage, factor)
        is_unknown = reply.is_sent and (status in UNSEEN or (cost is None and status not in UNCHARGED))
        return Ending(
            status=status,
            detail=outcome.detail,
            answer=reply.text if status == "ok" and self.terms.is_paid else None,
            usage=reply.usage,
            nano_usd=cost,
            held_nano_usd=intent.most_nano_usd if is_unknown else 0,
            seconds=seconds,
        )

    async def _begin(self, intent: Intent) -> int:
        while True:
            if self.is_stopping:
                raise ModelError("the run is being stopped")
            call = await self._written(intent)
            if call is not None:
                return call
            if not await self.scribe.write(lambda: self._may_suffice(intent)):
                raise self.over(intent)
            await asyncio.sleep(POLL_SECONDS)

    async def _written(self, intent: Intent) -> int | None:
        writing = self.scribe.post(lambda: self.ledger.begin(intent, self.most_nano_usd))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The row is written all the same, for an attempt that is never made.
            self.unmade.add(writing)
            writing.add_done_callback(self._take_back)
            raise

    def _take_back(self, writing: asyncio.Future[int | None]) -> None:
        self.unmade.discard(writing)
        if not writing.cancelled() and not writing.exception() and (call := writing.result()) is not None:
            self.scribe.post(lambda: self.ledger.end(call, Ending("cancelled")))

    def _may_suffice(self, intent: Intent) -> bool:
        """Say whether attempts under way may give some of what they hold back, or have done so meanwhile."""
        self.ledger.bury()
        left = (self.most_nano_usd or 0) - self.ledger.spending().most
        return left + self.ledger.pending_nano_usd() >= intent.most_nano_usd

    def over(self, intent: Intent) -> BudgetError:
        """Say that the money does not suffice for an attempt."""
        spent = self.ledger.spending()
        limit = (self.most_nano_usd or 0) / NANO
        held = f" and up to ${spent.held_nano_usd / NANO:.4f} that nobody can tell" if spent.held_nano_usd else ""
        return BudgetError(
            f"the budget of ${limit:.4f} does not suffice for another call, which may cost "
            f"${intent.most_nano_usd / NANO:.4f}: spent are ${spent.nano_usd / NANO:.4f}{held}; "
            "the answers so far are kept: raise the budget and ask again"
        )

    def note(self, outcome: Outcome) -> None:
        """Take down how a call ended at last.

        Raises:
            ModelError: hardly anything is answered any more.
        """
        if self.terms.is_paid:
            self.alarm.note(outcome.status)

    async def close(self) -> None:
        """Wait until all is written down."""
        while self.unmade:
            await asyncio.wait(self.unmade)
        await self.scribe.close()
