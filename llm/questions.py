"""What is asked of a model and what comes of it: the words that everything in here speaks in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol

from llm.answers import AnswerError, Form, read_answer
from llm.attempts import Reply, Status
from llm.meter import Terms

AGAIN: Mapping[Status, int] = {"schema_error": 1, "truncated": 1, "empty": 2, "reasoning_only": 2}
"""How often a call is made anew after a bad answer: with its error shown, with a larger limit, or as it was."""
SHOWN_CHARACTERS = 4000
"""How much of a bad answer the model is shown with its error, so that the prompt does not grow with it."""


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
class Repair:
    """A bad answer, cut to what is shown, and what is wrong with it."""

    answer: str
    error: str


@dataclass(frozen=True)
class Question(Generic[Form]):
    """What one attempt asks: a request, with a limit of tokens and after a bad answer where there was one."""

    prompt: Prompt
    request: Request
    form: type[Form]
    is_larger: bool = False
    repair: Repair | None = None


@dataclass(frozen=True)
class Outcome(Generic[Form]):
    """How a request ended: `answer` is there if and only if `status` is ok."""

    status: Status
    answer: Form | None = None
    detail: str | None = None


class Provider(Protocol):
    """Anything that answers. `identity` is all that its answers depend on beside prompt and input."""

    name: str
    identity: Mapping[str, Any]
    terms: Terms

    async def reply(self, question: Question[Any]) -> Reply:
        """Answer one question, once."""
        ...

    def most_nano_usd(self, question: Question[Any]) -> int:
        """Return what an answer costs at the most, in billionths of a US dollar."""
        ...

    async def close(self) -> None:
        """Let go of what one round of questions held open."""
        ...


class Free:
    """What providers share that cost nothing: no money, no waiting, and nothing to let go of."""

    terms = Terms()

    def most_nano_usd(self, question: Question[Any]) -> int:
        """Return 0."""
        return 0

    async def close(self) -> None:
        """Nothing is open."""


def next_question(asked: Question[Form], reply: Reply, outcome: Outcome[Form], terms: Terms) -> Question[Form] | None:
    """Return what to ask after a bad answer, or None where asking again would not help."""
    if not terms.is_paid:
        return None
    if outcome.status == "schema_error":
        repair = Repair(reply.text[:SHOWN_CHARACTERS], outcome.detail or "not of the form")
        return replace(asked, repair=repair)
    if outcome.status == "truncated":
        is_last = asked.is_larger or not terms.has_larger_limit
        return None if is_last else replace(asked, is_larger=True, repair=None)
    return asked if outcome.status in AGAIN else None


def outcome_of(reply: Reply, form: type[Form]) -> Outcome[Form]:
    """Read a reply as the form that was asked for; only what is of it is an answer."""
    if reply.status != "ok":
        return Outcome(reply.status, detail=reply.detail)
    if not reply.text.strip():
        return Outcome("empty", detail=reply.detail)
    try:
        return Outcome("ok", read_answer(reply.text, form))
    except AnswerError as error:
        return Outcome("schema_error", detail=str(error))
