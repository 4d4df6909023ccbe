"""The one way to call a model: many requests at once, each attempt in the ledger, none answered by a guess."""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol

import llm.answers
from llm.answers import AnswerError, Form, read_answer
from llm.errors import ModelError
from llm.ledger import Attempt, Ledger

KEY_SCHEME = 1
Status = Literal[
    "ok", "schema_error", "truncated", "filtered", "refused", "empty", "reasoning_only",
    "rate_limited", "timeout", "server_error", "http_error", "not_recorded",
]  # fmt: skip
AGAIN = {"schema_error", "empty", "reasoning_only"}
PASSING = {"rate_limited", "timeout", "server_error"}
"""How a call ends that may well be answered tomorrow."""


@dataclass(frozen=True)
class Prompt:
    """What a model is told to do; `name` is the stage's that asks."""

    name: str
    text: str


@dataclass(frozen=True)
class Request:
    """One thing to answer: `subject` names it for recordings, `input` is all that the model sees of it."""

    subject: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back from one attempt; `text` is the answer only where the status is ok."""

    status: Status
    text: str = ""
    detail: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Outcome(Generic[Form]):
    """How a request ended: `answer` is there if and only if `status` is ok."""

    status: Status
    answer: Form | None = None
    detail: str | None = None


class Provider(Protocol):
    """Anything that answers. `identity` is all that its answers depend on beside prompt and input."""

    name: str
    identity: Mapping[str, str]
    is_paid: bool
    concurrency: int

    async def reply(self, prompt: Prompt, request: Request, form: type[Form]) -> Reply:
        """Answer one request, once."""
        ...

    async def close(self) -> None:
        """Let go of what one round of questions held open."""
        ...


Progress = Callable[[int, int], None]
"""Told how many requests of how many are answered."""


def _silent(done: int, total: int) -> None:
    return


@dataclass
class Model:
    """A provider with its ledger: what a stage is given to ask."""

    provider: Provider
    ledger: Ledger = field(default_factory=Ledger)
    progress: Progress = _silent
    attempts: int = 2
    calls: int = 0

    @property
    def name(self) -> str:
        """The name that stands in every row the model made."""
        return self.provider.name

    @property
    def identity(self) -> dict[str, str]:
        """What stands for the model in fingerprints: the provider, and how answers are read."""
        reading = Path(llm.answers.__file__).read_bytes()
        return {**self.provider.identity, "reading": hashlib.sha256(reading).hexdigest()}

    def ask(self, prompt: Prompt, requests: Sequence[Request], form: type[Form]) -> list[Outcome[Form]]:
        """Answer every request, in the order of the requests.

        Raises:
            ModelError: the model cannot be used at all, or failed in a way that passes: such a request is no drop, and
                is made again in the next run. The answers that came stay in the ledger.
        """
        outcomes = asyncio.run(self._ask(prompt, requests, form))
        passing = Counter(outcome.status for outcome in outcomes if outcome.status in PASSING)
        if passing:
            told = ", ".join(f"{count} {status}" for status, count in sorted(passing.items()))
            raise ModelError(
                f"{self.name}: {told} of {len(requests):,} calls; run it again, the other answers are kept"
            )
        return outcomes

    async def _ask(self, prompt: Prompt, requests: Sequence[Request], form: type[Form]) -> list[Outcome[Form]]:
        outcomes: list[Outcome[Form] | None] = [None] * len(requests)
        waiting = iter(enumerate(requests))
        done = 0

        async def work() -> None:
            nonlocal done
            for index, request in waiting:
                outcomes[index] = await self._answer(prompt, request, form)
                done += 1
                self.progress(done, len(requests))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.provider.concurrency, len(requests))):
                    group.create_task(work())
        except* Exception as errors:
            raise errors.exceptions[0] from None
        finally:
            await self.provider.close()
        return [outcome for outcome in outcomes if outcome is not None]

    async def _answer(self, prompt: Prompt, request: Request, form: type[Form]) -> Outcome[Form]:
        key = key_of(self.provider, prompt, request, form)
        if self.provider.is_paid and (known := self.ledger.answer(key)) is not None:
            # What an earlier version let pass may not be read any more; then it is asked for anew.
            outcome = _read(Reply("ok", known), form)
            if outcome.answer is not None:
                return outcome
        outcome = Outcome("empty")
        for _ in range(self.attempts if self.provider.is_paid else 1):
            started = time.monotonic()
            reply = await self.provider.reply(prompt, request, form)
            outcome = _read(reply, form)
            self.calls += 1
            self.ledger.add(
                Attempt(
                    key=key,
                    model=self.name,
                    prompt=prompt.name,
                    subject=request.subject,
                    status=outcome.status,
                    answer=reply.text if outcome.status == "ok" and self.provider.is_paid else None,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.completion_tokens,
                    seconds=time.monotonic() - started,
                )
            )
            if outcome.status not in AGAIN:
                break
        return outcome


def _read(reply: Reply, form: type[Form]) -> Outcome[Form]:
    if reply.status != "ok":
        return Outcome(reply.status, detail=reply.detail)
    if not reply.text.strip():
        return Outcome("empty")
    try:
        return Outcome("ok", read_answer(reply.text, form))
    except AnswerError as error:
        return Outcome("schema_error", detail=str(error))


def key_of(provider: Provider, prompt: Prompt, request: Request, form: type[Form]) -> str:
    """Identify a call by all that its answer depends on, and by nothing else."""
    parts = [KEY_SCHEME, dict(provider.identity), prompt.name, prompt.text, form.model_json_schema()]
    text = json.dumps([*parts, request.input], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
