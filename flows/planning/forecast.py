"""How many calls each stage would make: counted where its tables tell, forecast from measured figures elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from flows.build import Step
from flows.planning.rehearsal import Rehearsal
from flows.planning.usual import FIGURES, RATIOS, History
from flows.run import Job
from llm.gateway import Provider
from stages.choice import Choice, choose

THOUSAND = 1000
"""Dialogues that a forecast is made for while nobody knows how many there are."""


@dataclass(frozen=True)
class Calls:
    """The calls of one stage: how many answers are known, how many are not, and the prompt tokens of those.

    An answer may be asked for anew up to `rounds` times where what it says is not good enough.
    """

    stage: str
    role: str
    provider: Provider
    known: int
    new: int
    prompt_tokens: int
    dearest_nano_usd: int = 0
    rounds: int = 1
    is_forecast: bool = False

    @property
    def is_free(self) -> bool:
        """Whether the calls cost nothing."""
        return not self.provider.terms.is_paid


@dataclass(frozen=True)
class Sizes:
    """How many dialogues are read, and how many samples items are made of: those that are not in the bank.

    For each thousand dialogues if nobody knows how many there are.
    """

    dialogues: float
    samples: float
    is_known: bool


def calls_of(job: Job, steps: Sequence[Step], rehearsal: Rehearsal, sizes: Sizes, history: History) -> Iterator[Calls]:
    """Give the calls of every step to build that asks a model, in the order of building."""
    shares = new_shares(steps, rehearsal)
    for step in steps:
        name, role = step.table.name, step.role
        if step.is_built or role is None:
            continue
        provider, rounds = job.models[role].provider, 1 + int(str(step.made_of.knobs.get("rewrites", 0)))
        if counted := rehearsal.counted.get(name):
            new, tokens = counted.new, counted.new_tokens
            yield Calls(name, role, provider, counted.known, new, tokens, counted.dearest_nano_usd, rounds)
        else:
            base = sizes.dialogues if FIGURES[name]["of"] == "dialogues" else sizes.samples
            total = round(base * FIGURES[name]["calls"])
            new = round(total * shares[name])
            tokens = round(new * _prompt_tokens(name, provider, rehearsal, history))
            yield Calls(name, role, provider, total - new, new, tokens, 0, rounds, is_forecast=True)


def _prompt_tokens(name: str, provider: Provider, rehearsal: Rehearsal, history: History) -> float:
    """Return the mean tokens of a prompt; dialogues are as long for the validator as they are for the extractor."""
    extraction = rehearsal.counted.get("candidate_memories")
    if name == "memories" and extraction and extraction.seen:
        longer = FIGURES["memories"]["prompt"] / FIGURES["candidate_memories"]["prompt"]
        return float(longer * extraction.all_tokens / len(extraction.seen))
    return history.of(provider.name, name).prompt


def new_shares(steps: Sequence[Step], rehearsal: Rehearsal) -> dict[str, float]:
    """Return which share of each table hangs on answers that are not known (0 to 1; 1 where nobody can tell)."""
    shares: dict[str, float] = {}
    for step in steps:
        name = step.table.name
        above = max((shares[read] for read in step.reads), default=0.0)
        counted = rehearsal.counted.get(name)
        if name in rehearsal.here:
            shares[name] = 0.0
        elif counted and counted.provider.terms.is_paid:
            shares[name] = counted.new / (counted.known + counted.new)
        else:
            # Without answers kept, or a table that is not made in a rehearsal: anything may be new.
            shares[name] = above if above and not counted else 1.0
    return shares


def sizes_of(job: Job, steps: Sequence[Step], rehearsal: Rehearsal) -> Sizes:
    """Say how many dialogues and samples there will be, from the nearest tables that are there."""
    found = _dialogues(steps, rehearsal)
    dialogues = THOUSAND if found is None else found
    there = _rows("users", steps, rehearsal)
    users = RATIOS["users"] * dialogues if there is None else there
    made = _rows("samples", steps, rehearsal)
    most = min(dialogues, users * job.recipe.samples.dialogues_per_user, job.recipe.samples.limit / RATIOS["samples"])
    samples = RATIOS["samples"] * most if made is None else made
    bank = job.recipe.splits.bank_factor * max(job.recipe.retrieval.distractors) / RATIOS["memories"]
    # Users without a sample are the first in the bank.
    banked = max(0.0, bank - RATIOS["bank"] * max(0.0, users - samples))
    return Sizes(dialogues, max(0.0, samples - banked), is_known=found is not None)


def _dialogues(steps: Sequence[Step], rehearsal: Rehearsal) -> float | None:
    if counted := rehearsal.counted.get("candidate_memories"):
        return len(counted.seen)
    kept, twins = (_rows(name, steps, rehearsal) for name in ("dialogues", "duplicate_dialogues"))
    if kept is not None:
        return float(kept * RATIOS["read"] if twins is None else kept - twins)
    if "conversations" not in rehearsal.here:
        return None
    filter = next(step.made_of.knobs for step in steps if step.table.name == "dialogues")
    choose(rehearsal.db, cast(Choice, {name: filter[name] for name in Choice.__annotations__}))
    passing: int = rehearsal.db.execute("select count(*) from chosen where drop_reason is null").fetchall()[0][0]
    return float(passing * RATIOS["read"])


def _rows(name: str, steps: Sequence[Step], rehearsal: Rehearsal) -> int | None:
    if name not in rehearsal.here:
        return None
    if any(step.table.name == name and step.is_built for step in steps):
        return rehearsal.built[name].rows
    rows: int = rehearsal.db.execute(f"select count(*) from {name}").fetchall()[0][0]
    return rows
