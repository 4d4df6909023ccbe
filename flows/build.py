"""Builds one table. Nothing else writes tables, and each is replaced whole or not at all."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import duckdb
import pyarrow as pa

from expectations.check import check
from expectations.contract import contract_of
from flows.fingerprint import fingerprint
from llm.gateway import Model
from stages.item import Item
from stages.source import Source
from warehouse import AlpsbenchError, BadInputError, Home, Relation, Table, Warehouse, connect, copied, only

Made: TypeAlias = Relation | pa.Table
Stage = Callable[..., Made]
Build = Callable[..., Table]
"""`build(stage, *tables_read, **knobs)`: what a flow calls to have a table."""


class LostItemsError(AlpsbenchError):
    """A stage neither kept nor dropped some of its items: a fault of the stage."""

    exit_code = 70


class NothingLeftError(AlpsbenchError):
    """A stage dropped all of its items."""

    exit_code = 9


class Reached(Exception):  # noqa: N818 # no error: the table that the build was to end with is there
    """The table after which a build was told to stop is built."""


@dataclass(frozen=True)
class Step:
    """One table of a plan, in the order of building."""

    position: int
    table: Table
    is_built: bool


@dataclass
class Planner:
    """Walks through a flow without building: what it would make of what, and what is there already."""

    built: dict[str, str]
    until: str | None = None
    steps: list[Step] = field(default_factory=list)

    def __call__(self, stage: Stage, *reads: Table, **knobs: Any) -> Table:
        """Note the table of a stage."""
        name = stage.__name__
        table = Table(name, fingerprint(stage, reads, knobs))
        self.steps.append(Step(len(self.steps) + 1, table, self.built.get(name) == table.fingerprint))
        if name == self.until:
            raise Reached
        return table


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
            model.calls, model.progress = 0, lambda done, total: self.watcher.counted(name, done, total)
        self.watcher.started(name)
        started = time.monotonic()
        made: Made | None = None
        if models:
            # The warehouse is closed while models are called.
            with copied(self.home.warehouse, names) as db:
                made = stage(db, **knobs)
        with connect(self.home.warehouse) as db, only(db, names) as (transaction, main):
            swap = Swap(transaction, main, name, item_of(stage))
            with reading(knobs):
                swap.put(stage(transaction, **knobs) if made is None else made)
            rows, dropped, items_in = swap.settle(self.home)
            seconds, calls = time.monotonic() - started, sum(model.calls for model in models)
            transaction.execute(
                f"insert or replace into {main}.builds values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now())",
                [name, step.position, step.table.fingerprint, names, str(swap.item) if swap.item else None,
                 items_in, rows, dropped, seconds, calls],
            )  # fmt: skip
        self.watcher.finished(name, rows, dropped, seconds)


@contextmanager
def reading(knobs: Mapping[str, Any]) -> Iterator[None]:
    """Tell of a source that turns out to be damaged while it is read.

    Raises:
        BadInputError: a shard cannot be read to its end; it names the shard.
    """
    try:
        yield
    except duckdb.Error:
        for knob in knobs.values():
            if isinstance(knob, Source) and (name := knob.damaged()):
                raise BadInputError(
                    f"{name} cannot be read to its end: it is damaged, or holds text that is not UTF-8"
                ) from None
        raise


def item_of(stage: Stage) -> Item | None:
    """Return what a stage accounts for, as its module states it."""
    item = getattr(sys.modules[stage.__module__], "ITEM", None)
    return item if isinstance(item, Item) else None


@dataclass
class Swap:
    """Puts what a stage made in the place of its table, inside one transaction."""

    transaction: Warehouse
    main: str
    name: str
    item: Item | None

    @property
    def staged(self) -> str:
        """The rows as the stage returned them, drops included."""
        return f"{self.main}.{self.name}__staged"

    def put(self, made: Made) -> None:
        """Write down what the stage returned."""
        relation = made if isinstance(made, Relation) else self.transaction.from_arrow(made)
        relation.create(self.staged)

    def settle(self, home: Home) -> tuple[int, int, int | None]:
        """Split the drops off, check the contract, replace the table; give rows, drops and items in.

        Raises:
            LostItemsError: an item of the stage is neither kept nor dropped.
            NothingLeftError: all are dropped, and the table may not be empty.
            ContractError: the rows are not what the table promises; the old table stands.
        """
        contract = contract_of(self.name)
        columns = {row[0] for row in self.transaction.execute(f"describe {self.staged}").fetchall()}
        dropped, items_in = 0, None
        if self.item:
            items_in = self._account(self.item)
        self.transaction.execute(f"delete from {self.main}.dropped where stage = $name", {"name": self.name})
        if "drop_reason" in columns:
            dropped = self._drop(columns)
        kept = ", ".join(sorted(columns & {"drop_reason", "drop_detail"}))
        chosen = f"* exclude ({kept})" if kept else "*"
        where = "where drop_reason is null" if "drop_reason" in columns else ""
        table = f"{self.main}.{self.name}"
        self.transaction.execute(f"create or replace table {table} as select {chosen} from {self.staged} {where}")
        self.transaction.execute(f"drop table {self.staged}")
        rows: int = self.transaction.execute(f"select count(*) from {table}").fetchall()[0][0]
        if dropped and not rows and contract.min_rows:
            raise NothingLeftError(f"nothing is left for the table {self.name}: {self._reasons()}")
        report = check(self.transaction, table, contract)
        report.raise_if_broken()
        home.reports.mkdir(exist_ok=True)
        (home.reports / f"{self.name}.json").write_text(report.to_json(), encoding="utf-8")
        return rows, dropped, items_in

    def _reasons(self) -> str:
        dropped = f"from {self.main}.dropped where stage = $name group by reason"
        counted = f"select count(*), reason {dropped} order by 1 desc, reason"
        found = self.transaction.execute(counted, {"name": self.name}).fetchall()
        return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for count, reason in found)

    def _account(self, item: Item) -> int:
        source = f"(select distinct {item.column}::varchar as item from {item.table} where {item.where})"
        here = f"(select {item.column}::varchar as item from {self.staged})"
        lost = self.transaction.execute(f"select item from {source} except select item from {here}").fetchmany(3)
        if lost:
            examples = ", ".join(str(one) for (one,) in lost)
            raise LostItemsError(f"{self.name} lost {item}: {examples}, neither kept nor dropped")
        count: int = self.transaction.execute(f"select count(*) from {source}").fetchall()[0][0]
        return count

    def _drop(self, columns: set[str]) -> int:
        column = self.item.column if self.item else "null"
        detail = "drop_detail" if "drop_detail" in columns else "null"
        self.transaction.execute(
            f"""
            insert into {self.main}.dropped
            select $name, {column}::varchar, drop_reason, {detail}::varchar
            from {self.staged} where drop_reason is not null
            """,
            {"name": self.name},
        )
        counted = f"select count(*) from {self.staged} where drop_reason is not null"
        count: int = self.transaction.execute(counted).fetchall()[0][0]
        return count


def built_tables(home: Home) -> dict[str, str]:
    """Return the fingerprint of each table that is built."""
    if not home.warehouse.exists():
        return {}
    with connect(home.warehouse) as db:
        try:
            return dict(db.execute("select name, fingerprint from builds").fetchall())
        except duckdb.CatalogException:
            return {}
