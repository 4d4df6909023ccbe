"""Puts what a stage made in the place of its table: whole, checked, every item accounted for."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from duckdb import SQLExpression

from expectations.check import check
from expectations.contract import contract_of
from stages.item import Item
from stages.parted import Parted, Rows
from warehouse import AlpsbenchError, Home, Relation, Warehouse

Made: TypeAlias = Rows | Parted


class LostItemsError(AlpsbenchError):
    """A stage neither kept nor dropped some of its items: a fault of the stage."""

    exit_code = 70


class NothingLeftError(AlpsbenchError):
    """A stage dropped all of its items."""

    exit_code = 9


def item_of(stage: Callable[..., Made]) -> Item | None:
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
        """The rows as the stage returned them."""
        return f"{self.main}.{self.name}__staged"

    @property
    def table(self) -> str:
        """The table that is replaced."""
        return f"{self.main}.{self.name}"

    def put(self, made: Made) -> None:
        """Write down what the stage returned: what is kept, and in `dropped` what is not and why."""
        self.transaction.execute(f"delete from {self.main}.dropped where stage = $name", {"name": self.name})
        if isinstance(made, Parted):
            self._drop(self._relation(made.dropped))
            self._relation(made.kept).create(self.staged)
            return
        self._relation(made).create(self.staged)
        columns = {row[0] for row in self.transaction.execute(f"describe {self.staged}").fetchall()}
        if "drop_reason" in columns:
            self._drop(self.transaction.sql(f"from {self.staged} where drop_reason is not null"))
            self.transaction.execute(f"delete from {self.staged} where drop_reason is not null")
        for column in sorted(columns & {"drop_reason", "drop_detail"}):
            self.transaction.execute(f"alter table {self.staged} drop column {column}")

    def settle(self, home: Home) -> tuple[int, int, int | None]:
        """Account for every item, check the contract, replace the table; give rows, drops and items in.

        Raises:
            LostItemsError: an item of the stage is neither kept nor dropped.
            NothingLeftError: all are dropped, and the table may not be empty.
            ContractError: the rows are not what the table promises; the old table stands.
        """
        contract = contract_of(self.name)
        items_in = self._account(self.item) if self.item else None
        self.replace()
        rows, dropped = self._count(self.table), self._count(f"{self.main}.dropped where stage = $name")
        if dropped and not rows and contract.min_rows:
            raise NothingLeftError(f"nothing is left for the table {self.name}: {self._reasons()}")
        report = check(self.transaction, self.table, contract)
        report.raise_if_broken()
        home.reports.mkdir(exist_ok=True)
        (home.reports / f"{self.name}.json").write_text(report.to_json(), encoding="utf-8")
        return rows, dropped, items_in

    def replace(self) -> None:
        """Put the staged rows in the place of the table."""
        self.transaction.execute(f"drop table if exists {self.table}")
        self.transaction.execute(f"alter table {self.staged} rename to {self.name}")

    def _reasons(self) -> str:
        dropped = f"from {self.main}.dropped where stage = $name group by reason"
        counted = f"select count(*), reason {dropped} order by 1 desc, reason"
        found = self.transaction.execute(counted, {"name": self.name}).fetchall()
        return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for count, reason in found)

    def _account(self, item: Item) -> int:
        source = f"(select distinct {item.column}::varchar as item from {item.table} where {item.where})"
        here = (
            f"(select {item.column}::varchar as item from {self.staged} "
            f"union all select item from {self.main}.dropped where stage = $name)"
        )
        lost = self.transaction.execute(
            f"select item from {source} except select item from {here}", {"name": self.name}
        ).fetchmany(3)
        if lost:
            examples = ", ".join(str(one) for (one,) in lost)
            raise LostItemsError(f"{self.name} lost {item}: {examples}, neither kept nor dropped")
        return self._count(source)

    def _drop(self, rows: Relation) -> None:
        column = self.item.column if self.item else "null"
        detail = "drop_detail" if "drop_detail" in rows.columns else "null"
        values = (f"'{self.name}'", f"{column}::varchar", "drop_reason", f"{detail}::varchar")
        rows.select(*map(SQLExpression, values)).insert_into(f"{self.main}.dropped")

    def _relation(self, made: Rows) -> Relation:
        return made if isinstance(made, Relation) else self.transaction.from_arrow(made)

    def _count(self, rows: str) -> int:
        knobs = {"name": self.name} if "$name" in rows else {}
        count: int = self.transaction.execute(f"select count(*) from {rows}", knobs).fetchall()[0][0]
        return count
