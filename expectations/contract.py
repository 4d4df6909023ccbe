"""What a table promises: its columns, its keys and its rules, as plain data."""

import importlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from warehouse.errors import AlpsbenchError


class ContractMissingError(AlpsbenchError):
    """A table has no module of its name in expectations/, or that module holds no contract."""


@dataclass(frozen=True)
class Column:
    """One column; every limit but `null` says nothing about nulls.

    Args:
        name: The column's name.
        type: The DuckDB type as `describe` prints it, such as `STRUCT("role" VARCHAR, "text" VARCHAR)[]`.
        null: Whether nulls are allowed.
        unique: Whether no two rows hold the same value.
        values: The values that are allowed; None allows all.
        between: The lowest and the highest value allowed, both included; None leaves a side open.
        pattern: A regular expression (RE2) that the whole text must match.
        empty: Whether texts of nothing but white space are allowed; only asked of VARCHAR.
        about: One sentence: what the column holds, with its unit.
    """

    name: str
    type: str = "VARCHAR"
    null: bool = False
    unique: bool = False
    values: Collection[object] | None = None
    between: tuple[object | None, object | None] | None = None
    pattern: str | None = None
    empty: bool = False
    about: str = ""


@dataclass(frozen=True)
class Rule:
    """A query for the rows that must not exist; `sql` reads the table by its own name."""

    name: str
    sql: str


@dataclass(frozen=True)
class Contract:
    """All that is checked of a table before it replaces the one before.

    Args:
        about: What a row is, in one sentence.
        columns: Every column of the table, and no other.
        unique: Keys of several columns; a null in a key is a value like any other.
        min_rows: The fewest rows the table may have.
        rules: What no single column can say.

    Raises:
        ValueError: Two columns or two rules share a name, or a key names no column.
    """

    about: str
    columns: tuple[Column, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    min_rows: int = 1
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        twice = _twice(names) or _twice([rule.name for rule in self.rules])
        unknown = {name for key in self.unique for name in key} - set(names)
        if twice:
            raise ValueError(f"a contract names {', '.join(twice)} twice")
        if unknown:
            raise ValueError(f"a key names {', '.join(sorted(unknown))}, which is no column of the contract")


def contract_of(table: str) -> Contract:
    """Give the contract that `expectations/<table>.py` states.

    Raises:
        ContractMissingError: There is no such module, or no `CONTRACT` in it.
    """
    module = f"expectations.{table}"
    try:
        contract = getattr(importlib.import_module(module), "CONTRACT", None)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        contract = None
    if not isinstance(contract, Contract):
        raise ContractMissingError(f"table {table} has no contract: write CONTRACT in expectations/{table}.py")
    return contract


def _twice(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
