"""What a plan shows: the tables to build and why, the calls to make, and whether the budget suffices."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from flows.planning.amounts import dollars
from flows.planning.estimate import verdict_of
from flows.planning.forecast import THOUSAND
from flows.planning.outlook import Outlook, reasons_of
from flows.planning.show_calls import show_calls
from llm.ledger import NANO
from llm.served import Served
from warehouse import Home

COUNTABLE = "duplicate_dialogues"
"""The table after which the calls of the extractor are counted; none before it asks a model."""


def show_outlook(console: Console, home: Home, outlook: Outlook) -> None:
    """Show all that a build would do, in one line when that is nothing."""
    job, steps, to_build = outlook.job, outlook.plan.steps, outlook.to_build
    if outlook.standing.is_building:
        told = f"a build is running in {escape(str(home.root))}: so it was when that last published"
        console.print(f"[yellow]{told}[/]", highlight=False, soft_wrap=True)
    if not to_build:
        left = "nothing to do" if outlook.is_done else "only what comes after the tables is to be done"
        console.print(f"{left}: all {len(steps)} tables are built", highlight=False)
    elif not outlook.standing.built:
        told = f"nothing is built in {escape(str(home.root))}: all {len(steps)} tables are to be"
        console.print(told, highlight=False, soft_wrap=True)
    else:
        show_tables(console, reasons_of(outlook), len(steps) - len(to_build))
    if outlook.estimates:
        if not outlook.sizes.is_known:
            console.print(f"\nhow many dialogues there are is not known yet: figures for each {THOUSAND:,} of them")
        show_calls(console, outlook.estimates)
        show_money(console, outlook)
    if job.again is None:
        for line in outlook.failures:
            console.print(f"[yellow]{line}[/]", highlight=False)
    if outlook.is_refused:
        told = f"version {job.version} is released already, and this would change it: a build refuses"
        console.print(f"[yellow]{told} without another --version[/]", highlight=False)


def show_tables(console: Console, why: Mapping[str, Sequence[str]], unchanged: int) -> None:
    """Show every table to build with the reasons."""
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for title in ("table to build", "why"):
        grid.add_column(title, overflow="fold")
    for name, reasons in why.items():
        grid.add_row(name, "\n".join(map(escape, reasons)))
    console.print(grid)
    if unchanged:
        console.print(f"[dim]{unchanged} {'table is' if unchanged == 1 else 'tables are'} there and unchanged[/]")


def show_money(console: Console, outlook: Outlook) -> None:
    """Show what was spent, what may be, and how the figures came about."""
    spent, most = outlook.job.ledger.spending(), outlook.most_usd
    console.print()
    if outlook.is_paid or spent.most:
        held = f", and up to {dollars(spent.held_nano_usd / NANO)} that nobody can tell" if spent.held_nano_usd else ""
        console.print(f"spent so far: {dollars(spent.nano_usd / NANO)}{held}", highlight=False)
    if outlook.is_paid:
        bound = "no budget.max_usd is set" if most is None else f"budget.max_usd, {dollars(most)},"
        console.print(f"{bound}{verdict_of(outlook.estimates, spent, most, outlook.sizes)}", highlight=False)
    for note in notes_of(outlook):
        console.print(f"[dim]{escape(note)}[/]", highlight=False)


def notes_of(outlook: Outlook) -> Iterator[str]:
    """Say where the figures come from."""
    estimates = outlook.estimates
    paid = [one for one in estimates if one.calls.new and not one.calls.is_free]
    if any(one.calls.is_forecast for one in estimates):
        yield "~ is a forecast, since tables that the stage reads are to be built first"
    if any(one.calls.is_forecast and one.calls.stage == "candidate_memories" for one in estimates):
        yield f"build --until {COUNTABLE} first, which calls no model: then they are counted"
    if any(not one.is_measured_here for one in paid):
        yield "answers as long as on real dialogues, thoughts left out; as in the ledger once that has 20 of them"
    if paid:
        yield "the high price is that of answers as long as max_tokens lets them be; calls that fail are left out"
    for calls in (one.calls for one in paid if one.calls.rounds > 1):
        yield f"{calls.stage}: what leaks is written again up to {calls.rounds - 1} times, in the high figures only"
    yield from sorted({_price(one.calls.provider) for one in paid if isinstance(one.calls.provider, Served)})


def _price(provider: Served) -> str:
    price = provider.terms.price
    if price is None:
        return f"{provider.name}: no price known, so it is in no sum of prices"
    batch = f", {provider.factor:g} of that in a batch" if provider.factor != 1 else ""
    return (
        f"{provider.name}: ${price.input:g} a million tokens in, ${price.output:g} out{batch} "
        f"({price.source}, {price.date})"
    )
