"""The one way to call a model: many requests at once, each attempt in the ledger, none answered by a guess."""

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from llm import answers, completions
from llm.answering import Answering
from llm.answers import Form
from llm.attempts import PASSING, Reply, Status
from llm.batch import BatchAnswering
from llm.batch_jobs import take_in
from llm.batch_rows import BatchRows
from llm.interrupts import run_interruptibly
from llm.ledger import Ledger
from llm.meter import Meter, Terms
from llm.questions import Free, Outcome, Prompt, Provider, Question, Request
from llm.served import Served

__all__ = [
    "PASSING",
    "Free",
    "Model",
    "Outcome",
    "Prompt",
    "Provider",
    "Question",
    "Reply",
    "Request",
    "Status",
    "Terms",
]

Item = TypeVar("Item")


Progress = Callable[[int, int], None]
"""Told how many requests of how many are answered."""


def _silent(done: int, total: int) -> None:
    return


@dataclass
class Model:
    """A provider with its ledger: what a stage is given to ask. `most_nano_usd` is what the ledger may spend in all.

    `calls` and `answered` count up, attempts and requests; `expected` is how many requests somebody knows to come.
    """

    provider: Provider
    ledger: Ledger = field(default_factory=Ledger)
    progress: Progress = _silent
    most_nano_usd: int | None = None
    calls: int = 0
    answered: int = 0
    expected: int = 0

    @property
    def at_once(self) -> int:
        """How many dialogues to ask it about before their answers are put away; batch jobs want all of them."""
        return sys.maxsize if self.provider.terms.is_batched else 5000

    @property
    def name(self) -> str:
        """The name that stands in every row the model made."""
        return self.provider.name

    @property
    def input_tokens(self) -> int | None:
        """How many tokens prompt and input may have together; None where nothing limits them."""
        return self.provider.terms.input_tokens

    @property
    def identity(self) -> dict[str, Any]:
        """What stands for the model in fingerprints: the provider, how it is asked, and how its answers are read."""
        files = [Path(str(module.__file__)) for module in (answers, completions)]
        code = "".join(file.read_text(encoding="utf-8") for file in files)
        reading = hashlib.sha256((code + completions.SCHEMA + completions.REPAIR).encode()).hexdigest()
        more = {"reading": reading, "input_tokens": self.input_tokens}
        return {**self.provider.identity, **more}

    def ask(self, prompt: Prompt, requests: Sequence[Request], form: type[Form]) -> list[Outcome[Form]]:
        """Answer every request, in the order of the requests.

        Raises:
            ModelError: the model cannot be used at all, or hardly anything is answered, or the money is out. The
                answers that came stay in the ledger.
        """
        outcomes: list[Outcome[Form] | None] = [None] * len(requests)
        for place, outcome in self.each(prompt, range(len(requests)), requests.__getitem__, form, len(requests)):
            outcomes[place] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    def each(
        self,
        prompt: Prompt,
        items: Iterable[Item],
        request_of: Callable[[Item], Request],
        form: type[Form],
        total: int,
    ) -> Iterator[tuple[Item, Outcome[Form]]]:
        """Answer a request for each item, as the answers come; only the items under way are in memory.

        In batch jobs all of them are under way. `total` is how many items there are, for those who wait.

        Raises:
            ModelError: as in `ask`.
        """
        done, before = 0, self.answered

        def tell(done: int) -> None:
            self.progress(before + min(done, total), max(before + total, self.expected))

        with asyncio.Runner() as runner:
            meter: Meter[Outcome[Form]] = Meter(self.ledger, self.provider.terms, self.most_nano_usd)
            way = BatchAnswering if self.provider.terms.is_batched else Answering
            answering = way(self.provider, meter, prompt, form)
            answering.told = lambda answered: tell(done + answered)
            batches = answering.batches(items, request_of)
            try:
                if isinstance(self.provider, Served) and way is Answering and BatchRows(self.ledger).running(self.name):
                    answering.held = run_interruptibly(runner, partial(take_in, self.provider, meter))
                while batch := run_interruptibly(runner, lambda: _next(batches)):
                    done += len(batch)
                    tell(done)
                    yield from batch
            finally:
                run_interruptibly(runner, lambda: answering.close(batches))
                self.calls += meter.attempts
                self.answered = before + done


async def _next(batches: AsyncIterator[list[Item]]) -> list[Item]:
    return await anext(batches, [])
