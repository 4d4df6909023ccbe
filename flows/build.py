"""Builds one table. Nothing else writes tables, and each is replaced whole or not at all."""

import inspect
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import duckdb

from flows.fingerprint import MadeOf, made_of
from flows.modules import Piece
from flows.recipe import ROLES
from flows.swap import Made, Swap, item_of
from llm.gateway import Model
from stages.source import Source
from stages.workers import HERE, Workers
from warehouse import Home, Table, Warehouse, connect, copied, only

Done = TypeVar("Done")
Stage = Callable[..., Made]
Build = Callable[..., Table]
"""`build(stage, *tables_read, **knobs)`: what a flow calls to have a table."""


class Reached(Exception):  # noqa: N818 # no error: the table that the build was to end with is there
    """The table after which a build was told to stop is built."""


@dataclass(frozen=True)
class Built:
    """How a table was built last: from what, when (microseconds since 1970), in how many seconds, with what rows."""

    fingerprint: str
    built_at: int
    seconds: float
    rows: int


@dataclass(frozen=True)
class Step:
    """One table of a plan, in the order of building."""

    position: int
    table: Table
    is_built: bool
    reads: Sequence[str]
    made_of: MadeOf

    @property
    def role(self) -> str | None:
        """The role of the model that its stage asks, if it asks one."""
        return next((role for role in ROLES if role in self.made_of.knobs), None)


@dataclass
class Planner:
    """Walks through a flow without building: what it would make of what, and what is there already.

    A table is there if it was made of the same things and after all that it reads, and none of that is to be built.
    The table `again` never is.
    """

    built: Mapping[str, Built]
    until: str | None = None
    again: str | None = None
    steps: list[Step] = field(default_factory=list)

    def __call__(self, stage: Stage, *reads: Table, **knobs: Any) -> Table:
        """Note the table of a stage."""
        name, made = stage.__name__, made_of(stage, reads, knobs)
        table, names = Table(name, made.fingerprint), [read.name for read in reads]
        self.steps.append(Step(len(self.steps) + 1, table, self._is_built(table, names), names, made))
        if name == self.until:
            raise Reached
        return table

    def _is_built(self, table: Table, reads: Collection[str]) -> bool:
        built = self.built.get(table.name)
        if built is None or built.fingerprint != table.fingerprint or table.name == self.again:
            return False
        changing = {step.table.name for step in self.steps if not step.is_built}
        return changing.isdisjoint(reads) and all(self.built[read].built_at <= built.built_at for read in reads)


class Watcher(Protocol):
    """Told what a build does, as it does it."""

    def starting(self) -> None:
        """The Prefect server is being started."""
        ...

    def started(self, name: str) -> None:
        """A stage begins."""
        ...

    def counted(self, name: str, done: int, total: int) -> None:
        """A stage has done so many of its model calls."""
        ...

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None:
        """A table is there; without `rows` it was there before."""
        ...


@dataclass
class Builder:
    """Builds what is not built yet, each table in one transaction, and logs it in `builds`."""

    home: Home
    steps: Sequence[Step]
    watcher: Watcher
    until: str | None = None
    workers: Workers = HERE

    def __call__(self, stage: Stage, *reads: Table, **knobs: Any) -> Table:
        """Build the table of a stage, unless it was already built from the same things."""
        if not self.is_built(stage):
            self.make(stage, *reads, **knobs)
        return self.pass_on(stage)

    def is_built(self, stage: Stage) -> bool:
        """Say whether the table was there, made of the same things, when the plan was made."""
        return self._step(stage).is_built

    def pass_on(self, stage: Stage) -> Table:
        """Give a stage's table to the stages after it; raise Reached where the build is to end."""
        step = self._step(stage)
        if step.is_built:
            self.watcher.finished(step.table.name, None, 0, 0)
        if step.table.name == self.until:
            raise Reached
        return step.table

    def make(self, stage: Stage, *reads: Table, **knobs: Any) -> None:
        """Build the table of a stage."""
        self._build(self._step(stage), stage, reads, knobs)

    def _step(self, stage: Stage) -> Step:
        return next(one for one in self.steps if one.table.name == stage.__name__)

    def _build(self, step: Step, stage: Stage, reads: Sequence[Table], knobs: dict[str, Any]) -> None:
        name, names = step.table.name, [table.name for table in reads]
        models = [knob for knob in knobs.values() if isinstance(knob, Model)]
        for model in models:
            model.calls = model.answered = model.expected = 0
            model.progress = lambda done, total: self.watcher.counted(name, done, total)
        self.watcher.started(name)
        started = time.monotonic()
        if has_workers := "workers" in inspect.signature(stage).parameters:
            knobs = {**knobs, "workers": self.workers}
        # The warehouse is closed while models are called, and others work.
        is_apart = bool(models) or (has_workers and self.workers.pieces > 1)

        def work() -> tuple[int, int, float]:
            return self._put(step, stage, names, knobs, self._made(stage, names, knobs) if is_apart else None, started)

        rows, dropped, seconds = reading(knobs, work)
        self.watcher.finished(name, rows, dropped, seconds)

    def _made(self, stage: Stage, names: Sequence[str], knobs: dict[str, Any]) -> Made:
        with copied(self.home.warehouse, names, folder=self.home.work) as db:
            return stage(db, **knobs)

    def _put(
        self, step: Step, stage: Stage, names: Sequence[str], knobs: dict[str, Any], made: Made | None, started: float
    ) -> tuple[int, int, float]:
        """Put what is made, or is made here, in the place of the table; give rows, drops and seconds."""
        name = step.table.name
        with connect(self.home.warehouse) as db, only(db, names) as (transaction, main):
            swap = Swap(transaction, main, name, item_of(stage))
            for source in (knob for knob in knobs.values() if made is not None and isinstance(knob, Source)):
                source.show(transaction)  # for the account of its rows
            swap.put(stage(transaction, **knobs) if made is None else made)
            rows, dropped, items_in = swap.settle(self.home)
            seconds = time.monotonic() - started
            calls = sum(knob.calls for knob in knobs.values() if isinstance(knob, Model))
            transaction.execute(
                f"insert or replace into {main}.builds values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now())",
                [name, step.position, step.table.fingerprint, names, str(swap.item) if swap.item else None,
                 items_in, rows, dropped, seconds, calls],
            )  # fmt: skip
            keep_pieces(transaction, main, name, step.made_of.pieces)
        return rows, dropped, seconds


def reading(knobs: Mapping[str, Any], work: Callable[[], Done]) -> Done:
    """Do work that reads sources among `knobs`; where one turns out to be damaged inside, repair it and do it again.

    Raises:
        BadInputError: nothing of a shard can be read; it names the shard.
    """
    try:
        return work()
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # how DuckDB tells of Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except duckdb.Error:
        repaired = [name for knob in knobs.values() if isinstance(knob, Source) for name in knob.repair()]
        if not repaired:
            raise
    return work()


def keep_pieces(db: Warehouse, schema: str, name: str, pieces: Sequence[Piece]) -> None:
    """Write down what a table is made of, in the place of what it was made of before."""
    db.execute(f"create table if not exists {schema}.made_of (name text, kind text, part text, value text)")
    db.execute(f"delete from {schema}.made_of where name = $name", {"name": name})
    kinds, parts, values = (list(column) for column in zip(*pieces, strict=True))
    insert = f"insert into {schema}.made_of select $name, unnest($kinds), unnest($parts), unnest($values)"
    db.execute(insert, {"name": name, "kinds": kinds, "parts": parts, "values": values})


def built_tables(home: Home) -> dict[str, Built]:
    """Return how each table was built that is there."""
    if not home.warehouse.exists():
        return {}
    with connect(home.warehouse) as db:
        return built_in(db)


def built_in(db: Warehouse) -> dict[str, Built]:
    """Return the same from an open database."""
    try:
        rows = db.execute("select name, fingerprint, epoch_us(built_at), seconds, rows from builds").fetchall()
    except duckdb.CatalogException:
        return {}
    return {name: Built(*how) for name, *how in rows}


def pieces_in(db: Warehouse) -> dict[str, list[Piece]]:
    """Return what each table is made of, as far as that was written down."""
    pieces: dict[str, list[Piece]] = {}
    try:
        rows = db.execute("select name, kind, part, value from made_of").fetchall()
    except duckdb.CatalogException:
        return {}
    for name, *piece in rows:
        pieces.setdefault(name, []).append(Piece(*piece))
    return pieces
