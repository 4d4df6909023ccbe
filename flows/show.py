"""What a build shows: progress while it works, then what went in, what came out, and what was dropped and why."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from flows.calls_made import attempts_in, failures_in
from flows.labels import show_labels
from flows.planning.amounts import dollars
from flows.run import DRAFT_VERSION, Job, Plan
from llm.ledger import NANO
from llm.offline import NAME as RULES
from stages.label_counts import count_labels
from warehouse import Warehouse, connect

SUMMARY = """
    select name, items_in, rows, seconds, calls, (
        select string_agg(items || ' ' || replace(reason, '_', ' '), ', ' order by items desc, reason)
        from (select reason, count(*) as items from dropped where stage = name group by reason)
    )
    from builds
    order by position
"""


@dataclass
class Terminal:
    """Shows a build on a console: a bar where there is a terminal, and a line for each table that is built."""

    console: Console
    tables: int
    done: int = 0
    unchanged: list[str] = field(default_factory=list)
    progress: Progress | None = None
    task: TaskID | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show the bar for as long as the build takes."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        quiet = not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=quiet) as self.progress:
            self.task = self.progress.add_task("looking what is there", total=self.tables)
            yield

    def starting(self) -> None:
        """The Prefect server is being started."""
        self._show("starting Prefect", self.done, self.tables)

    def started(self, name: str) -> None:
        """A stage begins."""
        self._show(name, self.done, self.tables)

    def counted(self, name: str, done: int, total: int) -> None:
        """A stage has made so many of its model calls."""
        self._show(f"{name}: calls", done, total)

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None:
        """A table is there; without `rows` it was there before."""
        self.done += 1
        if rows is None:
            self.unchanged.append(name)
        else:
            lost = f", {dropped:,} dropped" if dropped else ""
            line = f"[green]✓[/] {name}: {rows:,} rows{lost} [dim]({seconds:.1f} s)[/]"
            self.console.print(line, highlight=False)
        self._show("checking gates, writing", self.done, self.tables)

    def _show(self, what: str, done: int, total: int) -> None:
        if self.progress and self.task is not None:
            self.progress.update(self.task, description=what, completed=done, total=total)


def show_result(console: Console, job: Job, plan: Plan, unchanged: int, seconds: float) -> None:
    """Show the table of all tables, how it was made, what it cost, and where to look next."""
    with connect(job.home.published, read_only=True) as db:
        console.print()
        console.print(_summary(db))
        if any(step.table.name == "sample_memories" and not step.is_built for step in plan.steps):
            console.print()
            show_labels(console, count_labels(db, job.recipe.samples.limits))
        built = len(plan.steps) - unchanged
        said = f"{built} tables built, {unchanged} unchanged" if built else f"all {unchanged} tables unchanged"
        console.print(f"\n{said}, in {seconds:.1f} s", highlight=False)
        for line in _calls(job, db, seconds):
            console.print(line, highlight=False)
    if rules := [role for role, model in job.models.items() if model.name == RULES and role != "judge"]:
        who = ", ".join(rules)
        console.print(f"[yellow]{RULES}[/] played {who}: rules, not a language model; good for a look only")
    console.print(_places(job, plan))


def _calls(job: Job, db: Warehouse, seconds: float) -> Iterator[str]:
    """Say what the paid calls of the last so many seconds came to, and what they left without an answer."""
    paid = {model.name for model in job.models.values() if model.provider.terms.is_paid}
    if told := attempts_in(db, paid, datetime.now(UTC) - timedelta(seconds=seconds)):
        spent = dollars(job.ledger.spending().nano_usd / NANO)
        yield f'{told}; {spent} in this home so far, see alpsbench sql "from cost_by_stage"'
    yield from (f"[yellow]{line}[/]" for line in failures_in(db))


def _summary(db: Warehouse) -> Grid:
    rows = db.execute(SUMMARY).fetchall()
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    grid.add_column("table")
    for title in ("items in", "rows", "seconds", "calls"):
        grid.add_column(title, justify="right")
    grid.add_column("dropped", overflow="fold")
    for name, items_in, count, spent, calls, dropped in rows:
        counts = (
            "" if items_in is None else f"{items_in:,}",
            f"{count:,}",
            f"{spent:.1f}",
            f"{calls:,}" if calls else "",
        )
        grid.add_row(name, *counts, dropped or "")
    return grid


def _places(job: Job, plan: Plan) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    if plan.fingerprint:
        release = job.home.releases / job.version
        replaced = ", replaced by the next build" if job.version == DRAFT_VERSION else ""
        grid.add_row("release", f"{release}", f"[yellow]UNVERIFIED[/]: no person corrected its memories{replaced}")
        grid.add_row("card", f"{release}/public/README.md", "what it is, and what it withstood")
    grid.add_row("tables", f"{job.home.published}", 'alpsbench sql "from funnel"')
    grid.add_row("contracts", f"{job.home.data_docs}/index.html", "what each table promises")
    return grid
