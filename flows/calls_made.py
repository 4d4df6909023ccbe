"""What the calls of a build came to: attempts and money, and the items that went without an answer."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime

import duckdb

from flows.planning.amounts import dollars
from llm.attempts import PASSING
from warehouse import Warehouse

ATTEMPTS = """
    select status, count(*) as attempts, coalesce(sum(usd), 0), coalesce(sum(held_usd), 0) from calls
    where list_contains($models, model) and way <> 'served' and started_at >= $since
    group by status
    order by attempts desc, status
"""
DROPPED = """
    select stage, reason, count(*) from dropped
    left join builds on builds.name = stage
    where list_contains($passing, reason)
    group by all
    order by any_value(position)
"""
UNCHECKED = """
    select 'leak_checks', evidence, count(*) from leak_checks
    where "check" = 'auditor' and verdict = 'not_measured' and list_contains($passing, evidence)
    group by all
"""
LEFT = (
    (DROPPED, "item was dropped", "items were dropped"),
    (UNCHECKED, "query was not audited", "queries were not audited"),
)


def attempts_in(db: Warehouse, models: Collection[str], since: datetime) -> str | None:
    """Say what became of the calls of `models` that were begun at or after a time (UTC), and what they cost.

    None where there were none.
    """
    asked = {"models": sorted(models), "since": since.strftime("%Y-%m-%dT%H:%M:%S.%f")}
    rows = db.execute(ATTEMPTS, asked).fetchall()
    counts = {status: count for status, count, *_ in rows}
    if not counts:
        return None
    usd, held = (sum(row[place] for row in rows) for place in (2, 3))
    kinds = [f"{counts.pop('ok', 0):,} answered", *(f"{count:,} {status}" for status, count in counts.items())]
    unsure = f" and up to {dollars(held)} that nobody can tell" if held else ""
    calls = sum(row[1] for row in rows)
    return f"{calls:,} call{'s' * (calls != 1)}, {', '.join(kinds)}: {dollars(usd)}{unsure}"


def failures_in(db: Warehouse) -> Iterator[str]:
    """Say which items went without an answer for failures that may pass, and how to ask again."""
    for sql, one, many in LEFT:
        found: list[tuple[str, str, int]] = []
        with suppress(duckdb.CatalogException):
            found = db.execute(sql, {"passing": sorted(PASSING)}).fetchall()
        kinds: Counter[str] = Counter()
        for _, reason, count in found:
            kinds[reason] += count
        if found:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in kinds.most_common())
            yield (
                f"{kinds.total():,} {one if kinds.total() == 1 else many} for failures that may pass ({listed}): "
                f"the same build with --again {found[0][0]} asks again"
            )
