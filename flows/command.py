"""`alpsbench build`: from the command line's words to a job, and from its result to what is shown."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from annotation.desk import NoDesk
from flows.models import models_of, stored
from flows.recipe import Recipe, read_recipe
from flows.run import Job, plan_of, run
from flows.settings import Settings
from flows.show import Terminal, show_result
from flows.sources import SAMPLE, open_source
from llm.ledger import Ledger
from stages.secret import Secret
from warehouse import AlpsbenchError, BadInputError, Home


class StoppedError(AlpsbenchError):
    """Somebody pressed Ctrl-C."""

    exit_code = 130


def run_build(
    console: Console,
    settings: Settings,
    home: Home,
    source: str,
    recipe_file: Path | None,
    changes: Sequence[str],
    until: str | None,
    version: str,
) -> None:
    """Build, showing progress, and then the table of what came of it.

    Raises:
        StoppedError: it was interrupted; what is built so far stays.
    """
    started = time.monotonic()
    if not source.strip():
        raise BadInputError("--source is empty: give a file, a folder, or sample")
    is_sample = source == "sample"
    recipe = read_recipe(recipe_file or (SAMPLE / "recipe.toml" if is_sample else None), changes)
    home.make()
    with home.building():
        job = job_of(settings, home, SAMPLE if is_sample else Path(source), recipe, until, version)
        terminal = Terminal(console, len(plan_of(job).steps))
        try:
            with terminal.watching():
                plan = run(job, terminal)
        except KeyboardInterrupt:
            raise StoppedError(f"stopped after {time.monotonic() - started:.0f} s; run it again to go on") from None
        show_result(console, job, plan, len(terminal.unchanged), time.monotonic() - started)


def job_of(settings: Settings, home: Home, source: Path, recipe: Recipe, until: str | None, version: str) -> Job:
    """Open all that a build needs."""
    ledger = Ledger(home.ledger)
    models = models_of(recipe, settings, ledger)
    return Job(
        home=home,
        recipe=stored(recipe, models),
        source=open_source(source, home),
        # The people of the sample are invented: a known secret gives everybody the same sample release.
        secret=Secret("sample-1" if source == SAMPLE else home.secret(settings.secret)),
        models=models,
        desk=NoDesk(),
        ledger=ledger,
        version=version,
        until=until,
    )
