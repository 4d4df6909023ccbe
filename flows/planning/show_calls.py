"""The table of the calls that a plan would make: how many, how long, at which price."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from flows.planning.amounts import dollars, tokens
from flows.planning.estimate import Estimate, total_of
from flows.planning.usual import Spread

WIDE = 120
"""Columns that all figures need beside one another."""
TEXTS = {"role": "role", "stage": "stage", "model": "model"}
COUNTS = {"known": "known\ncalls", "new": "new\ncalls", "prompt": "prompt\ntokens"}
ANSWERS = {"low": "answer\nlow", "expected": "answer\nexpected", "high": "answer\nhigh"}
PRICES = {"low $": "price\nlow", "expected $": "price\nexpected", "high $": "price\nhigh"}
TITLES = TEXTS | COUNTS | ANSWERS | PRICES
Cells = Mapping[str, str]


def show_calls(console: Console, estimates: Sequence[Estimate]) -> None:
    """Show the calls of every stage, in two tables where the console is narrow, and what the paid ones come to."""
    rows = [_cells(one) for one in estimates]
    paid = [one for one in estimates if not one.calls.is_free]
    if len(paid) > 1:
        rows.append(_total(paid))
    for names in _columns(is_wide=console.width >= WIDE, is_paid=bool(paid)):
        console.print()
        console.print(_grid(names, rows))


def _columns(*, is_wide: bool, is_paid: bool) -> Sequence[Sequence[str]]:
    if not is_paid:
        return [(*TEXTS, "new", "expected $")]
    return [tuple(TITLES)] if is_wide else [(*TEXTS, *COUNTS), ("stage", *ANSWERS, *PRICES)]


def _grid(names: Sequence[str], rows: Iterable[Cells]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name in names:
        title = TITLES[name] if "\n" in TITLES[name] else f"\n{TITLES[name]}"
        grid.add_column(title, justify="left" if name in TEXTS else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(row.get(name, "") for name in names))
    return grid


def _cells(one: Estimate) -> Cells:
    calls = one.calls
    about = "~" if calls.is_forecast else ""
    names = {"role": calls.role, "stage": calls.stage, "model": escape(calls.provider.name)}
    if calls.is_free:
        return names | {"new": f"{about}{calls.new:,}", "expected $": "free"}
    counts = {"known": f"{about}{calls.known:,}", "new": f"{about}{calls.new:,}", "prompt": tokens(calls.prompt_tokens)}
    return names | counts | _costs(one.completion, one.usd)


def _total(paid: Sequence[Estimate]) -> Cells:
    counts = {
        "known": f"{sum(one.calls.known for one in paid):,}",
        "new": f"{sum(one.calls.new for one in paid):,}",
        "prompt": tokens(sum(one.calls.prompt_tokens for one in paid)),
    }
    usd = [one.usd for one in paid if one.usd is not None]
    costs = _costs(total_of([one.completion for one in paid]), total_of(usd) if usd else None)
    return {
        name: f"[bold]{value}[/]" for name, value in ({"role": "all", "stage": "all paid"} | counts | costs).items()
    }


def _costs(answers: Spread, usd: Spread | None) -> dict[str, str]:
    lengths = dict(zip(ANSWERS, map(tokens, (answers.low, answers.expected, answers.high)), strict=True))
    if usd is None:
        return lengths | {"expected $": "no price known"}
    return lengths | dict(zip(PRICES, map(dollars, (usd.low, usd.expected, usd.high)), strict=True))
