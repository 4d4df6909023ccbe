"""`alpsbench build`: from the command line's words to a job, and from its result to what is shown."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from annotation.desk import NoDesk
from flows.models import check_keys, models_of, stored
from flows.recipe import Recipe, read_recipe
from flows.run import DRAFT_VERSION, Job, plan_of, run
from flows.settings import Settings
from flows.show import Terminal, show_result
from flows.sources import SAMPLE, open_source
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
    """What somebody asks for: a source by its path or `sample`, a recipe with changes, where to stop, what to redo."""

    source: str = SAMPLE_NAME
    recipe_file: Path | None = None
    changes: Sequence[str] = ()
    until: str | None = None
    version: str = DRAFT_VERSION
    again: str | None = None

    @property
    def path(self) -> Path:
        """Where the source is.

        Raises:
            BadInputError: none is given.
        """
        if not self.source.strip():
            raise BadInputError("--source is empty: give a file, a folder, or sample")
        return SAMPLE if self.source == SAMPLE_NAME else Path(self.source)

    def recipe(self) -> Recipe:
        """Read the recipe; the sample brings its own.

        Raises:
            BadInputError: it is none, or no change of one.
        """
        return read_recipe(self.recipe_file or (SAMPLE / "recipe.toml" if self.path == SAMPLE else None), self.changes)


def run_build(console: Console, settings: Settings, home: Home, order: Order) -> None:
    """Build, showing progress, and then the table of what came of it.

    Raises:
        StoppedError: it was interrupted; what is built so far stays.
    """
    started = time.monotonic()
    recipe = order.recipe()
    home.make()
    with home.building():
        job = job_of(settings, home, order.path, recipe, order.until, order.version, order.again)
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


def job_of(
    settings: Settings,
    home: Home,
    source: Path,
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
        recipe=stored(recipe, models),
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
