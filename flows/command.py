"""`alpsbench build`: from the command line's words to a job, and from its result to what is shown."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from annotation.desk import NoDesk
from flows.hub.address import SCHEME, Address, address_of
from flows.hub.snapshot import Snapshot
from flows.models import check_keys, models_of, stored
from flows.recipe import Recipe
from flows.recipe_file import read_recipe
from flows.run import DRAFT_VERSION, Job, plan_of, run
from flows.runner import Runner
from flows.settings import Settings
from flows.show import Terminal, show_result
from flows.sources import SAMPLE, locate, open_source
from llm.batch_rows import BatchRows
from llm.ledger import Ledger
from stages.secret import Secret
from warehouse import AlpsbenchError, BadInputError, Home

SAMPLE_NAME = "sample"
"""What stands for the bundled sample in the place of a path."""


class StoppedError(AlpsbenchError):
    """Somebody pressed Ctrl-C."""

    exit_code = 130


@dataclass(frozen=True)
class Order:
    """What somebody asks for: a source, a recipe with changes, where to stop, what to redo.

    A source is a path, a dataset of the hub, or `sample`; None is what the recipe names, else the sample.
    """

    source: str | None = None
    recipe_file: Path | None = None
    changes: Sequence[str] = ()
    until: str | None = None
    version: str = DRAFT_VERSION
    again: str | None = None
    runner: Runner = Runner()

    def place(self, recipe: Recipe) -> Path | Address:
        """Return where the source is: the command line goes before the recipe.

        Raises:
            BadInputError: none is given, or no such dataset can be.
        """
        named = (recipe.source.dataset or SAMPLE_NAME) if self.source is None else self.source
        if not named.strip():
            raise BadInputError("--source is empty: give a file, a folder, a dataset of the hub, or sample")
        if named.startswith(SCHEME):
            return address_of(named)
        return SAMPLE if named == SAMPLE_NAME else Path(named)

    def recipe(self) -> Recipe:
        """Read the recipe; the sample brings its own.

        Raises:
            BadInputError: it is none, or no change of one.
        """
        recipe = read_recipe(self.recipe_file, self.changes)
        if self.recipe_file is None and self.place(recipe) == SAMPLE:
            return read_recipe(SAMPLE / "recipe.toml", self.changes)
        return recipe


def run_build(console: Console, settings: Settings, home: Home, order: Order) -> None:
    """Build, showing progress, and then the table of what came of it.

    Raises:
        StoppedError: it was interrupted; what is built so far stays.
    """
    started = time.monotonic()
    recipe = order.recipe()
    order.runner.check()
    home.make()
    with home.building():
        try:
            source = located(console, order, recipe, fetch=True)
        except KeyboardInterrupt:
            raise StoppedError("stopped; run it again to go on: files that are complete are kept") from None
        job = job_of(settings, home, source, recipe, order.until, order.version, order.again)
        job = replace(job, runner=order.runner, asked=recipe)
        with closing(job.ledger):
            steps = plan_of(job).steps
            check_keys(job.models, [step.role for step in steps if step.role and not step.is_built])
            terminal = Terminal(console, len(steps))
            try:
                with terminal.watching():
                    plan = run(job, terminal)
            except KeyboardInterrupt:
                jobs = BatchRows(job.ledger).under_way()
                more = f"; {jobs} batch jobs go on at the provider, and the next run reads them" if jobs else ""
                seconds = time.monotonic() - started
                raise StoppedError(f"stopped after {seconds:.0f} s; run it again to go on{more}") from None
            show_result(console, job, plan, len(terminal.unchanged), time.monotonic() - started)


def located(console: Console, order: Order, recipe: Recipe, *, fetch: bool) -> Path | Snapshot:
    """Find the source, and say so if it is another than the recipe names.

    Raises:
        BadInputError: there is none, or the hub has no such dataset.
        HubError: the hub cannot be reached, or the disk is full.
    """
    place, named = order.place(recipe), recipe.source.dataset
    if named is not None and place != address_of(named):
        told = f"--source goes before the recipe: {order.source} is read, not {named}"
        console.print(f"[yellow]{escape(told)}[/]", highlight=False, soft_wrap=True)
    return locate(console, place, fetch=fetch)


def job_of(
    settings: Settings,
    home: Home,
    source: Path | Snapshot,
    recipe: Recipe,
    until: str | None = None,
    version: str = DRAFT_VERSION,
    again: str | None = None,
    secret: Secret | None = None,
) -> Job:
    """Open all that a build needs; without `secret` that is the home's own."""
    ledger = Ledger(home.ledger)
    models = models_of(recipe, settings, ledger)
    return Job(
        home=home,
        recipe=stored(recipe, models, str(source.address) if isinstance(source, Snapshot) else None),
        source=open_source(source, home),
        # The people of the sample are invented: a known secret gives everybody the same sample release.
        secret=secret or Secret("sample-1" if source == SAMPLE else home.secret(settings.secret)),
        models=models,
        desk=NoDesk(),
        ledger=ledger,
        version=version,
        until=until,
        again=again,
    )
