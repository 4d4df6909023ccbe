"""How fast an address is asked: as many calls at once as it bears, and none while it wants to be left alone."""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import tenacity

from llm.attempts import OWN, PASSING, Reply, Status
from llm.errors import ModelError

OVERLOADED: frozenset[Status] = frozenset({"rate_limited", "timeout", "server_error"})
LONGEST_PAUSE_SECONDS = 900.0
"""Who wants to be left alone for longer is out of reach for this run."""


class Pace:
    """The adaptive limit of one address: additive increase, multiplicative decrease (Chiu and Jain, 1989).

    Every answer adds a part of a call, so that a whole round of answers adds one; an overload halves the limit, at
    the most once in `cut_seconds`, since the calls of one burst all report the same overload.
    """

    def __init__(self, most: int = 32, cut_seconds: float = 1.0) -> None:
        self.most = most
        self.cut_seconds = cut_seconds
        self.limit = float(most)
        self.cut_at = float("-inf")
        self.open_at = 0.0
        self.gate: anyio.CapacityLimiter | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place among the calls under way."""
        async with self._gate():
            while (left := self.open_at - time.monotonic()) > 0:
                await asyncio.sleep(left)
            yield

    def note(self, reply: Reply) -> None:
        """Learn from how an attempt ended.

        Raises:
            ModelError: the address wants to be left alone for longer than a run may wait.
        """
        if reply.status in OVERLOADED:
            self._cut()
        elif reply.status not in PASSING:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
        if self.gate is not None:
            self.gate.total_tokens = int(self.limit)
        if reply.retry_after is not None:
            if reply.retry_after > LONGEST_PAUSE_SECONDS:
                raise ModelError(f"the address wants no calls for {reply.retry_after:,.0f} s ({reply.status})")
            if reply.status == "rate_limited":  # a limit is the whole account's; other troubles may be one call's own
                self.open_at = max(self.open_at, time.monotonic() + reply.retry_after)

    def _cut(self) -> None:
        if time.monotonic() - self.cut_at >= self.cut_seconds:
            self.limit = max(1.0, self.limit / 2)
            self.cut_at = time.monotonic()

    def _gate(self) -> anyio.CapacityLimiter:
        loop = asyncio.get_running_loop()
        if self.gate is None or self.loop is not loop:  # a limiter belongs to one event loop
            self.gate, self.loop = anyio.CapacityLimiter(int(self.limit)), loop
        return self.gate


class Patience:
    """How often an attempt that failed in passing is made again, and after which pauses."""

    def __init__(self, attempts: int = 8, first_seconds: float = 0.5, longest_seconds: float = 60.0) -> None:
        self.attempts = attempts
        self.back_off = tenacity.wait_random_exponential(multiplier=first_seconds, max=longest_seconds)

    def retrying(
        self, reply_in: Callable[[Any], Reply] = lambda given: given, is_over: Callable[[], bool] = lambda: False
    ) -> tenacity.AsyncRetrying:
        """Return a fresh loop over attempts that ends with what the last one gave; `reply_in` finds the reply in it.

        Once `is_over` none is made again.
        """

        def wait(state: tenacity.RetryCallState) -> float:
            wanted = reply_in(state.outcome.result()).retry_after if state.outcome else None
            return self.back_off(state) + (wanted or 0.0)

        return tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(lambda given: reply_in(given).status in PASSING and not is_over()),
            wait=wait,
            stop=tenacity.stop_after_attempt(self.attempts),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )


class Alarm:
    """Stops a run that fails as a whole: what fails for everybody is no matter of single items.

    That is where hardly any of the last calls got through to the model, or hardly any of all, known ones included, has
    an answer, those aside that are too much for the model or that it will not answer.
    """

    def __init__(self, last: int = 50, fewest: int = 10, share: float = 0.9) -> None:
        self.last: deque[Status] = deque(maxlen=last)
        self.all: Counter[Status] = Counter()
        self.fewest = fewest
        self.share = share

    def know(self, answers: int) -> None:
        """Take down calls that an earlier run has had answered."""
        self.all["ok"] += answers

    def note(self, status: Status) -> None:
        """Take down how a call ended at last.

        Raises:
            ModelError: the run fails as a whole.
        """
        self.last.append(status)
        self._check("of the last", Counter(self.last), Counter(one for one in self.last if one in PASSING))
        self.note_all([status])

    def note_all(self, endings: Sequence[Status]) -> None:
        """Take down how calls ended of which nobody can tell which was the last.

        Raises:
            ModelError: as in `note`.
        """
        self.all.update(endings)
        failed = {one: count for one, count in self.all.items() if one != "ok" and one not in OWN}
        self._check("of all", self.all, Counter(failed))

    def _check(self, which: str, ended: Counter[Status], failed: Counter[Status]) -> None:
        if failed.total() >= max(self.fewest, self.share * ended.total()):
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(failed.items()))
            raise ModelError(f"{failed.total()} {which} {ended.total()} calls failed ({kinds})")


def retry_after_of(headers: object, now: float) -> float | None:
    """Read Retry-After, in seconds or as a date (RFC 9110, 10.2.3), or retry-after-ms; `now` in seconds since 1970."""
    get = getattr(headers, "get", lambda name: None)
    milliseconds, text = get("retry-after-ms"), get("retry-after")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else _seconds(text, now)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def _seconds(text: Any, now: float) -> float:
    try:
        return float(text)
    except ValueError:
        return parsedate_to_datetime(text).timestamp() - now
