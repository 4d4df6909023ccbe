"""How long prompts and answers usually are: by the ledger where it knows enough calls, else by measured figures."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm.ledger import Ledger
from warehouse import connect

FORECAST = tomllib.loads(Path(__file__).with_name("forecast.toml").read_text(encoding="utf-8"))
RATIOS: Mapping[str, float] = FORECAST["ratios"]
FIGURES: Mapping[str, Mapping[str, Any]] = FORECAST["calls"]
"""Of each stage that asks a model: how many calls it makes, and how long they are."""
ENOUGH = 20
"""Answered calls from which the ledger knows better than the figures."""
ANSWERED = """
    select model, prompt, avg(prompt_tokens), quantile_cont(completion_tokens, 0.1), avg(completion_tokens),
        quantile_cont(completion_tokens, 0.9)
    from calls
    where status = 'ok' and prompt_tokens is not null and completion_tokens is not null
    group by all
    having count(*) >= $enough
"""


@dataclass(frozen=True)
class Spread:
    """A figure that is not known for sure: low, expected and high."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True)
class Usual:
    """Tokens of a prompt, and of an answer, thoughts included where the ledger tells."""

    prompt: float
    completion: Spread
    is_measured_here: bool


@dataclass(frozen=True)
class History:
    """What is usual for a model in a stage."""

    known: Mapping[tuple[str, str], Usual]

    def of(self, model: str, stage: str) -> Usual:
        """Return what the ledger tells of a model in a stage, or the figures of the stage."""
        figures = FIGURES[stage]
        measured = Usual(figures["prompt"], Spread(*figures["completion"]), is_measured_here=False)
        return self.known.get((model, stage), measured)


def history_of(ledger: Ledger) -> History:
    """Read what is usual out of a ledger: answers by their 10 % quantile, mean and 90 % quantile."""
    with connect() as db:
        db.from_arrow(ledger.rows()).create("calls")
        rows = db.execute(ANSWERED, {"enough": ENOUGH}).fetchall()
    return History(
        {
            (model, stage): Usual(prompt, Spread(*spread), is_measured_here=True)
            for model, stage, prompt, *spread in rows
        }
    )
