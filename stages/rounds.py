"""Asks a model about dialogues in parts, and asks again in smaller parts where a part was too much for it."""

import json
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from llm.gateway import Model, Outcome, Prompt, Request
from llm.tokens import expected_tokens

Form = TypeVar("Form", bound=BaseModel)


class Asked(Protocol):
    """A part of a dialogue that a model is asked about."""

    @property
    def request(self) -> Request:
        """What is asked."""
        ...


Part = TypeVar("Part", bound=Asked)
Key: TypeAlias = tuple[int, ...]
"""Which dialogue, which of its parts, which half of that, and so on."""


def ask_in_rounds(
    model: Model,
    prompt: Prompt,
    form: type[Form],
    dialogues: Sequence[Sequence[Part]],
    smaller: Callable[[Part, str], Sequence[Part]],
) -> list[list[tuple[Part, Outcome[Form]]]]:
    """Ask about every part of every dialogue; what is left of each dialogue, in order, are parts that were not split.

    Args:
        model: The model to ask; in each round it gets all open questions at once.
        prompt: What it is told.
        form: What it answers with.
        dialogues: The parts of each dialogue.
        smaller: Gives the parts that a part without an answer is asked again in, by the status it ended with; none
            where it is to end so.
    """
    waiting: list[tuple[Key, Part]] = [
        ((place, number), part) for place, parts in enumerate(dialogues) for number, part in enumerate(parts)
    ]
    settled: dict[Key, tuple[Part, Outcome[Form]]] = {}
    while waiting:
        outcomes = model.ask(prompt, [part.request for _, part in waiting], form)
        again: list[tuple[Key, Part]] = []
        for (key, part), outcome in zip(waiting, outcomes, strict=True):
            parts = smaller(part, outcome.status) if outcome.answer is None else ()
            again += [((*key, number), one) for number, one in enumerate(parts)]
            if not parts:
                settled[key] = part, outcome
        waiting = again
    answered: list[list[tuple[Part, Outcome[Form]]]] = [[] for _ in dialogues]
    for key in sorted(settled):
        answered[key[0]].append(settled[key])
    return answered


def room_beside(model: Model, prompt: Prompt, form: type[Form], rest: object) -> int | None:
    """Return the estimated tokens that are left for a dialogue; None where nothing limits the model's input.

    Args:
        model: The model that is asked.
        prompt: What it is told.
        form: What it answers with; its schema is told too.
        rest: What else stands in the input, as JSON can hold it.
    """
    if model.input_tokens is None:
        return None
    others = (prompt.text, json.dumps(form.model_json_schema()), json.dumps(rest, ensure_ascii=False))
    return model.input_tokens - sum(map(expected_tokens, others))


def part_of(number: int, parts: int, detail: str | None) -> str | None:
    """Return the detail of a drop, with the part of the dialogue that it is about where there are several."""
    if parts == 1:
        return detail
    return f"part {number} of {parts}" + (f": {detail}" if detail else "")
