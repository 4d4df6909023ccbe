"""`alpsbench plan`: what a build would do, why, and what it would cost. It asks no model and builds nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape

from flows.command import Order, job_of, located
from flows.hub.snapshot import Snapshot
from flows.planning.outlook import outlook_of
from flows.planning.show_plan import show_outlook
from flows.run import check_version
from flows.settings import Settings
from flows.sources import SAMPLE
from stages.secret import Secret
from warehouse import Home


def run_plan(console: Console, settings: Settings, home: Home, order: Order) -> None:
    """Show what a build of the same order would do.

    Raises:
        BadInputError: an order that a build would refuse, too.
        BusyError: a build is running that has published nothing yet.
    """
    check_version(order.version)
    recipe = order.recipe()
    source = located(console, order, recipe, fetch=False)
    missing = isinstance(source, Snapshot) and source.missing
    with scratch(home) as there, ExitStack() as opened:
        with console.status("looking what is there"):
            # A plan makes no secret: where there is none yet, every table is new, whatever the ids in it will be.
            has_secret = source == SAMPLE or (there.root / "secret").exists()
            secret = None if has_secret else Secret(settings.secret or "none yet")
            job = job_of(settings, there, source, recipe, order.until, order.version, order.again, secret)
            opened.enter_context(closing(job.ledger))
            if not missing:
                job.source.check()
            outlook = outlook_of(job)
        if missing:
            console.print(f"a build would first download {escape(str(source))}", highlight=False, soft_wrap=True)
        show_outlook(console, home, outlook)


@contextmanager
def scratch(home: Home) -> Iterator[Home]:
    """Give the home, or in the place of one that is not there yet a folder that nobody keeps."""
    if home.work.exists():
        yield home
    else:
        with TemporaryDirectory(prefix="alpsbench-plan-") as folder:
            empty = Home(Path(folder))
            empty.make()
            yield empty
