"""Puts what a stage made in the place of its table: whole, checked, every item accounted for."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from expectations.check import check
from expectations.contract import contract_of
from stages.item import Item
from warehouse import AlpsbenchError, Home, Relation, Warehouse

Made: TypeAlias = Relation | pa.Table


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
        """The rows as the stage returned them, drops included."""
        return f"{self.main}.{self.name}__staged"

    @property
    def table(self) -> str:
        """The table that is replaced."""
        return f"{self.main}.{self.name}"

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
        items_in = self._account(self.item) if self.item else None
        dropped = self.split()
        rows = self._count(self.table)
        if dropped and not rows and contract.min_rows:
            raise NothingLeftError(f"nothing is left for the table {self.name}: {self._reasons()}")
        report = check(self.transaction, self.table, contract)
        report.raise_if_broken()
        home.reports.mkdir(exist_ok=True)
        (home.reports / f"{self.name}.json").write_text(report.to_json(), encoding="utf-8")
        return rows, dropped, items_in

    def split(self) -> int:
        """Make the table of what is kept, and note what is dropped; give the number of drops."""
        columns = {row[0] for row in self.transaction.execute(f"describe {self.staged}").fetchall()}
        self.transaction.execute(f"delete from {self.main}.dropped where stage = $name", {"name": self.name})
        dropped = self._drop(columns) if "drop_reason" in columns else 0
        kept = ", ".join(sorted(columns & {"drop_reason", "drop_detail"}))
        chosen = f"* exclude ({kept})" if kept else "*"
        where = "where drop_reason is null" if "drop_reason" in columns else ""
        self.transaction.execute(f"create or replace table {self.table} as select {chosen} from {self.staged} {where}")
        self.transaction.execute(f"drop table {self.staged}")
        return dropped

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
        return self._count(source)

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
        return self._count(f"{self.staged} where drop_reason is not null")

    def _count(self, rows: str) -> int:
        count: int = self.transaction.execute(f"select count(*) from {rows}").fetchall()[0][0]
        return count
