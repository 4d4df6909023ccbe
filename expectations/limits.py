"""What the limits of a column mean: in SQL, the rows that break them; in words, for people."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from expectations.contract import Column

LISTED_VALUES = 12


@dataclass(frozen=True)
class Condition:
    """What the rows that break one limit have in common, and what to call them."""

    noun: str
    detail: str
    sql: str
    parameters: tuple[object, ...] = ()

    def words(self, count: int) -> str:
        return f"has {counted(count, self.noun)} {self.detail}".strip()


def conditions_of(column: Column) -> Iterator[Condition]:
    """State what rows that break a column's limits look like; none but the first holds for a null."""
    name = quoted(column.name)
    if not column.null:
        yield Condition("null", "", f"{name} is null")
    if column.type in ("FLOAT", "DOUBLE"):
        yield Condition("value", "not finite", f"not isfinite({name})")
    if column.type == "VARCHAR" and not column.empty:
        yield Condition("empty text", "", rf"not regexp_matches({name}, '[^\s\pZ]')")
    if column.values is not None:
        allowed = list(column.values)
        yield Condition("value", f"not {_listed(allowed)}", f"not list_contains(?, {name})", (allowed,))
    if column.between is not None:
        sides = [(sign, end) for sign, end in zip("<>", column.between, strict=True) if end is not None]
        outside = " or ".join(f"{name} {sign} ?" for sign, _ in sides)
        yield Condition("value", f"not {_range(*column.between)}", outside, tuple(end for _, end in sides))
    if column.pattern is not None:
        unlike = f"not regexp_full_match({name}, ?)"
        yield Condition("value", f"not like {column.pattern}", unlike, (column.pattern,))


def promise_of(column: Column) -> str:
    """Say in words what a column promises and holds."""
    limits = [
        column.type,
        "" if column.null else "never null",
        "unique" if column.unique else "",
        "" if column.type != "VARCHAR" or column.empty else "never empty",
        "" if column.values is None else _listed(column.values),
        "" if column.between is None else _range(*column.between),
        "" if column.pattern is None else f"like {column.pattern}",
    ]
    return f"{', '.join(filter(None, limits))}. {column.about}".strip()


def counted(count: int, noun: str) -> str:
    """Give `1 row` or `2,500 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _range(low: object, high: object) -> str:
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"from {low} to {high}"


def _listed(values: Collection[object]) -> str:
    # A set has no order that two runs agree on.
    names = list(map(str, values)) if isinstance(values, Sequence) else sorted(map(str, values))
    more = [f"{len(names) - LISTED_VALUES} more"] if len(names) > LISTED_VALUES else []
    return f"one of {', '.join(names[:LISTED_VALUES] + more)}"
