"""Goes through a build in memory, as far as no model has to be asked, and counts the calls that it would make."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.desk import NoDesk
from flows.build import Built, Reached, Stage, Step
from flows.planning.counting import Counting
from flows.swap import Swap, item_of
from llm.gateway import Model
from stages.secret import Secret
from warehouse import Table, Warehouse, connect, copied, only

QUICK_SECONDS = 20
"""A stage that took longer when it was built last is not tried."""


def wanted_of(steps: Sequence[Step]) -> set[str]:
    """Return the tables to build that a model is asked for, and those to build that they are made of in turn."""
    wanted: set[str] = set()
    for step in reversed(steps):
        if not step.is_built and (step.role or step.table.name in wanted):
            wanted |= {step.table.name, *step.reads}
    return wanted & {step.table.name for step in steps if not step.is_built}


@contextmanager
def copy_of(place: Path | None, steps: Sequence[Step]) -> Iterator[Warehouse]:
    """Give a database with copies of the tables that are there and that a rehearsal of the steps reads."""
    wanted, there = wanted_of(steps), {step.table.name for step in steps if step.is_built}
    names = {read for step in steps if step.table.name in wanted for read in step.reads} & there
    if place is None or not names:
        with connect() as db:
            yield db
    else:
        with copied(place, sorted(names)) as db:
            yield db


@dataclass
class Rehearsal:
    """Builds in `db` what can be told without asking: `here` are the tables that are what a build would make."""

    db: Warehouse
    steps: Sequence[Step]
    built: Mapping[str, Built]
    until: str | None = None
    counted: dict[str, Counting] = field(default_factory=dict)
    here: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = wanted_of(self.steps)
        self.here = {step.table.name for step in self.steps if step.is_built}

    def __call__(self, stage: Stage, *reads: Table, **knobs: Any) -> Table:
        """Make the table of a stage, if it is wanted and can be made."""
        name, names = stage.__name__, [table.name for table in reads]
        if name in self.wanted and self.here.issuperset(names) and self._is_feasible(name, knobs):
            self._make(stage, names, knobs)
        if name == self.until:
            raise Reached
        return next(step.table for step in self.steps if step.table.name == name)

    def _is_feasible(self, name: str, knobs: Mapping[str, Any]) -> bool:
        """Say whether a stage stays within the database, and is quick or asks a model."""
        if any(isinstance(knob, Model) for knob in knobs.values()):
            return True
        stays = all(isinstance(knob, NoDesk | Secret) or not hasattr(knob, "identity") for knob in knobs.values())
        return stays and name in self.built and self.built[name].seconds <= QUICK_SECONDS

    def _make(self, stage: Stage, reads: Sequence[str], knobs: Mapping[str, Any]) -> None:
        name = stage.__name__
        counting = {
            role: Counting(knob.provider, knob.ledger) for role, knob in knobs.items() if isinstance(knob, Model)
        }
        with only(self.db, reads) as (transaction, main):
            swap = Swap(transaction, main, name, item_of(stage))
            swap.put(stage(transaction, **{**knobs, **counting}))
            swap.replace()
        for one in counting.values():
            self.counted[name] = one
        if not any(one.new for one in counting.values()):
            self.here.add(name)
