"""What a build shows in the terminal: progress while it works, then what went in, came out and was dropped."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from flows.run import Job, Plan
from llm.offline import NAME as RULES
from warehouse import connect

SUMMARY = """
    select name, item, items_in, rows, seconds, calls, (
        select string_agg(items || ' ' || replace(reason, '_', ' '), ', ' order by items desc, reason)
        from (select reason, count(*) as items from dropped where stage = name group by reason)
    )
    from builds order by position
"""
MODELS = "select distinct extractor from memories union select distinct generator from query_drafts"


@dataclass
class Terminal:
    """Shows a build on a console; without a terminal it writes one line a table."""

    console: Console
    tables: int
    done: int = 0
    unchanged: list[str] = field(default_factory=list)
    progress: Progress | None = None
    task: TaskID | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show the bars for as long as the build takes."""
        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        )  # fmt: skip
        with Progress(*columns, console=self.console, transient=True) as self.progress:
            self.task = self.progress.add_task("starting", total=self.tables)
            yield

    def started(self, name: str) -> None:
        """A stage begins."""
        self._update(description=name, completed=self.done, total=self.tables)

    def counted(self, name: str, done: int, total: int) -> None:
        """A stage has done so many of its model calls."""
        self._update(description=f"{name}: calls", completed=done, total=total)

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None:
        """A table is there; without `rows` it was there before."""
        self.done += 1
        if rows is None:
            self.unchanged.append(name)
        else:
            lost = f", {dropped:,} dropped" if dropped else ""
            self.console.print(f"[green]✓[/] {name}: {rows:,} rows{lost} [dim]({seconds:.1f} s)[/]", highlight=False)
        self._update(description="", completed=self.done, total=self.tables)

    def _update(self, **state: object) -> None:
        if self.progress and self.task is not None:
            self.progress.update(self.task, **state)  # type: ignore[arg-type] # as rich's own keywords


def show_result(console: Console, job: Job, plan: Plan, unchanged: int, seconds: float) -> None:
    """Show the table of all tables, and where to look next."""
    with connect(job.home.published, read_only=True) as db:
        rows = db.execute(SUMMARY).fetchall()
        made_by = {name for (name,) in db.execute(MODELS).fetchall()} if not job.until else set()
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for title, justify in (("table", "left"), ("items in", "right"), ("rows", "right"), ("s", "right"), ("calls", "right"),
                           ("dropped", "left")):  # fmt: skip
        grid.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type] # a literal in rich
    for name, _, items_in, count, spent, calls, dropped in rows:
        numbers = ("" if items_in is None else f"{items_in:,}", f"{count:,}", f"{spent:.1f}", f"{calls:,}" if calls else "")
        grid.add_row(name, *numbers, dropped or "")
    console.print(grid)
    if unchanged == len(plan.steps):
        console.print(f"\nAll {unchanged} tables unchanged, nothing was built ({seconds:.1f} s).")
    else:
        console.print(f"\n{len(plan.steps) - unchanged} tables built, {unchanged} unchanged ({seconds:.1f} s).")
    if RULES in made_by:
        console.print(f"[yellow]{RULES}[/] is a set of rules, not a language model: good for a look, not for a benchmark.")
    _show_places(console, job, plan)


def _show_places(console: Console, job: Job, plan: Plan) -> None:
    places = Grid.grid(padding=(0, 2))
    if plan.fingerprint:
        release = job.home.releases / job.version
        places.add_row("release", f"{release}/public  (UNVERIFIED: nobody corrected the memories)")
        places.add_row("card", f"{release}/public/README.md")
    places.add_row("tables", f'{job.home.published}  (alpsbench sql "from funnel")')
    places.add_row("checks", f"{job.home.data_docs}/index.html")
    console.print(places)
