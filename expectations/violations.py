"""Counts, by SQL alone, the rows of a table that break its contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from expectations.contract import Column, Contract, Rule
from expectations.limits import conditions_of, counted, promise_of, quoted

EXAMPLES = 3
EXAMPLE_CHARACTERS = 80

Key = tuple[str, ...]
Row = tuple[object, ...]


@dataclass(frozen=True)
class Violation:
    """One way in which a contract is broken: how often, the words for it, the keys of some such rows."""

    count: int
    words: str
    examples: str = ""

    def __str__(self) -> str:
        return f"{self.words} ({self.examples})" if self.examples else self.words


@dataclass(frozen=True)
class Subject:
    """What one expectation is about: the table, a column, a key or a rule."""

    name: str
    promise: str
    violations: list[Violation]

    @property
    def count(self) -> int:
        return sum(violation.count for violation in self.violations)


@dataclass(frozen=True)
class Source:
    """A table where it stands: its name in SQL there, its columns' types, and the key that names its rows."""

    db: duckdb.DuckDBPyConnection
    table: str
    types: Mapping[str, str]
    key: Key

    def fetch(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self.db.execute(sql, parameters).fetchall()

    def number(self, sql: str) -> int:
        return int(str(self.fetch(sql)[0][0]))

    def examples(self, rows: str, parameters: Sequence[object] = (), *, key: Key = (), before: str = "") -> str:
        """Name some rows by their key, and show nothing else that they hold."""
        key = key or self.key
        if not key:
            return ""
        names = ", ".join(map(quoted, key))
        some = self.fetch(f"{before} select {names} {rows} order by all limit {EXAMPLES}", parameters)
        return f"{', '.join(key)}: " + ", ".join(" / ".join(map(_short, row)) for row in some)


def count_violations(
    db: duckdb.DuckDBPyConnection, table: str, contract: Contract, *, name: str
) -> tuple[int, list[Subject]]:
    """Compare a table with its contract; give its number of rows, and what breaks each part of the contract.

    Where columns are missing or of another type, keys and rules are left out: they could not be answered.

    Args:
        db: A connection that can read the table, inside a transaction or not.
        table: The table as SQL names it there, such as `wh.main.candidate`.
        contract: What to compare it with.
        name: The table's own name, by which rules read it.
    """
    described = db.execute(f"describe {table}").fetchall()
    types = {column: type_ for column, type_, *_ in described}
    source = Source(db, table, types, _key_of(contract, types))
    right = [column for column in contract.columns if types.get(column.name) == column.type]
    rows, broken = _broken_limits(source, right)
    subjects = [_table(source, contract, rows)]
    for column in contract.columns:
        violations = broken.get(column.name) or _wrong_type(source, column)
        subjects.append(Subject(f"column {column.name}", promise_of(column), violations))
    if len(right) == len(contract.columns):
        subjects += [_key(source, key) for key in contract.unique]
        subjects += [_rule(source, rule, name) for rule in contract.rules]
    return rows, subjects


def _key_of(contract: Contract, types: Mapping[str, str]) -> Key:
    single = [(column.name,) for column in contract.columns if column.unique]
    for key in (*single, *contract.unique):
        if all(column in types and not _is_nested(types[column]) for column in key):
            return key
    return ()


def _table(source: Source, contract: Contract, rows: int) -> Subject:
    violations = []
    if rows < contract.min_rows:
        few = f"has {counted(rows, 'row')}, fewer than {contract.min_rows:,}"
        violations.append(Violation(contract.min_rows - rows, few))
    known = {column.name for column in contract.columns}
    unknown = [column for column in source.types if column not in known]
    if unknown:
        more = f"has {counted(len(unknown), 'column')} not in the contract: {', '.join(unknown)}"
        violations.append(Violation(len(unknown), more))
    least = counted(contract.min_rows, "row")
    return Subject("table", f"At least {least}, no column but these. A row: {contract.about}", violations)


def _broken_limits(source: Source, columns: Sequence[Column]) -> tuple[int, dict[str, list[Violation]]]:
    """Count the rows, and those that break each limit of a column, in one pass; then find duplicates."""
    conditions = [(column, condition) for column in columns for condition in conditions_of(column)]
    counts = ["count(*)", *(f"count(*) filter (where {condition.sql})" for _, condition in conditions)]
    parameters = [value for _, condition in conditions for value in condition.parameters]
    [(rows, *found)] = source.fetch(f"select {', '.join(counts)} from {source.table}", parameters)
    broken: dict[str, list[Violation]] = {column.name: [] for column in columns}
    for (column, condition), number in zip(conditions, map(int, map(str, found)), strict=True):
        if number:
            such = source.examples(f"from {source.table} where {condition.sql}", condition.parameters)
            broken[column.name].append(Violation(number, condition.words(number), such))
    for column in columns:
        if column.unique:
            broken[column.name] += _duplicates(source, (column.name,), f"{quoted(column.name)} is not null")
    return int(str(rows)), broken


def _wrong_type(source: Source, column: Column) -> list[Violation]:
    found = source.types.get(column.name)
    if found == column.type:
        return []
    return [Violation(1, f"is {found}, not {column.type}" if found else "is missing")]


def _key(source: Source, key: Key) -> Subject:
    return Subject(f"key {', '.join(key)}", "No two rows share it.", _duplicates(source, key, "true"))


def _duplicates(source: Source, key: Key, where: str) -> list[Violation]:
    """Count the rows that could be left out so that no two share a key."""
    shared = f"from {source.table} where {where} group by {', '.join(map(quoted, key))} having count(*) > 1"
    number = source.number(f"select coalesce(sum(n - 1), 0)::bigint from (select count(*) as n {shared})")
    if not number:
        return []
    # A nested key would be shown as it is, with all that it holds.
    scalar = not any(_is_nested(source.types[column]) for column in key)
    such = source.examples(shared, key=key) if scalar else ""
    return [Violation(number, f"has {counted(number, 'duplicate')}", such)]


def _rule(source: Source, rule: Rule, name: str) -> Subject:
    # Inside the rule the table's own name means the candidate, wherever that stands.
    own = f"with {quoted(name)} as not materialized (from {source.table})"
    rows = f"from ({rule.sql.strip().rstrip(';')})"
    number = source.number(f"{own} select count(*) {rows}")
    violations = []
    if number:
        shown = {column for column, *_ in source.fetch(f"describe {own} select * {rows}")}
        such = source.examples(rows, before=own) if shown.issuperset(source.key) else ""
        violations.append(Violation(number, f"is broken by {counted(number, 'row')}", such))
    return Subject(f"rule {rule.name}", "No row breaks it.", violations)


def _short(value: object) -> str:
    text = "".join(character if character.isprintable() else "?" for character in str(value))
    return text if len(text) <= EXAMPLE_CHARACTERS else text[: EXAMPLE_CHARACTERS - 1] + "…"


def _is_nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(("STRUCT(", "MAP(", "UNION("))
