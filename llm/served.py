"""The provider that calls a model at an address which speaks the OpenAI protocol."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.completions import body_of, is_told_schema, reply_of
from llm.jobs import Jobs
from llm.meter import Terms
from llm.money import most_of
from llm.pace import Pace, Patience
from llm.questions import Question
from llm.tokens import MESSAGE_TOKENS, most_tokens
from llm.wire import Wire

LARGER = 4
"""How many times the first limit a cut answer may have."""


class Sampling(BaseModel):
    """How answers are drawn. What is not set is left to the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    reasoning_effort: str | None = None


class Served:
    """A model of the catalogue, called over HTTP."""

    def __init__(
        self,
        entry: Entry,
        key: str | None,
        sampling: Sampling | None = None,
        max_tokens: int = 8192,
        pace: Pace | None = None,
        patience: Patience | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        """Name the model, the key that the server wants, and the tokens that an answer may have at first.

        With `jobs` the questions of a round are handed in as batch jobs.

        Raises:
            ModelError: the key holds what no header can; the errors of HTTP would show it.
        """
        self.name = entry.name
        self.entry = entry
        self.wire = Wire(entry, key)
        self.jobs = jobs
        given = (sampling or Sampling()).model_dump(exclude_none=True)
        self.sampling = {name: value for name, value in given.items() if name not in entry.refuses}
        most = entry.output_tokens or LARGER * max_tokens
        self.limits = min(max_tokens, most), min(LARGER * max_tokens, most)
        room = entry.context_tokens and max(entry.context_tokens - self.limits[1], entry.context_tokens // 2)
        self.terms = Terms(
            is_paid=True,
            price=entry.price,
            input_tokens=room,
            has_larger_limit=self.limits[1] > self.limits[0],
            is_batched=jobs is not None,
            pace=pace or Pace(entry.concurrency),
            patience=patience or Patience(),
        )
        # The limit of tokens is no part of it: an answer that was not cut is the same under a larger one.
        self.identity: Mapping[str, Any] = {
            "model": entry.name,
            "served_as": entry.served_as,
            "sampling": self.sampling,
            "is_told_schema": is_told_schema(entry),
        }

    @property
    def has_key(self) -> bool:
        """Whether there is a key to send."""
        return bool(self.wire.key)

    async def reply(self, question: Question[Any]) -> Reply:
        """Call the model once."""
        answer = await self.wire.post("/chat/completions", self.body(question))
        return answer if isinstance(answer, Reply) else reply_of(answer, self.entry.reasoning_fields)

    def body(self, question: Question[Any]) -> dict[str, Any]:
        """Return a question as the body of a call."""
        return body_of(self.entry, question, self.sampling, self.limits[question.is_larger])

    @property
    def batch_jobs(self) -> Jobs:
        """The jobs that the questions are handed in as."""
        if self.jobs is None:
            raise RuntimeError(f"{self.name} is not called in batches")
        return self.jobs

    @property
    def factor(self) -> float:
        """The share of the price that is asked."""
        return self.entry.price.batch_factor if self.entry.price and self.jobs else 1.0

    def most_nano_usd(self, question: Question[Any]) -> int:
        """Return what an answer costs at the most: no text has more tokens than bytes."""
        if self.entry.price is None:
            return 0
        body = self.body(question)
        sent = most_tokens(orjson.dumps([body["messages"], body.get("response_format")]).decode())
        sent += len(body["messages"]) * MESSAGE_TOKENS
        return most_of(self.entry.price, sent, self.limits[question.is_larger], self.factor)

    async def close(self) -> None:
        """Let go of the connections."""
        await self.wire.close()
