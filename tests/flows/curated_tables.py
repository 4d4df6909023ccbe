"""Tells what each table up to `samples` holds: curated_tables.py FILE.

Or builds them first, without Prefect: curated_tables.py SOURCE HOME.
"""

import hashlib
import json
import os
import sys
from contextlib import closing, suppress
from pathlib import Path

from flows.build import Builder, Reached
from flows.command import job_of
from flows.recipe_file import read_recipe
from flows.run import parts_of, plan_of
from flows.settings import Settings
from stages.secret import Secret
from warehouse import Home, Warehouse, connect

UNTIL = "samples"
SECRET = "a-secret-that-stands-in-no-file"
PLACES = {"shard", "row", "source_row"}
"""Columns that say where a row stands in the source."""
TABLES = (
    *("conversations", "dialogues", "users", "duplicate_dialogues", "candidate_memories", "memories"),
    *("duplicate_memories", "sample_memories", "samples"),
)


class Silent:
    """A watcher that says nothing."""

    def starting(self) -> None: ...

    def started(self, name: str) -> None: ...

    def counted(self, name: str, done: int, total: int) -> None: ...

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None: ...


def contents(db: Warehouse) -> dict[str, tuple[int, str]]:
    """Return the number of rows of each table, and a hash of all it holds but places, whatever the order of rows."""
    found = {}
    for name in TABLES:
        columns = [f'"{column}"' for column, *_ in db.execute(f"describe {name}").fetchall() if column not in PLACES]
        rows = sorted(map(repr, db.execute(f"select {', '.join(columns)} from {name}").fetchall()))
        found[name] = len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest()
    # Where a repeated row stands differs with the shards; how many there are does not.
    drops = sorted(map(repr, db.execute("select stage, reason, count(*) from dropped group by all").fetchall()))
    found["dropped"] = len(drops), hashlib.sha256("\n".join(drops).encode()).hexdigest()
    return found


def curate_alone(source: Path, place: Path) -> dict[str, tuple[int, str]]:
    """Build, and return the contents."""
    home = Home(place)
    home.make()
    with home.building():
        job = job_of(Settings(), home, source, read_recipe(None), UNTIL, secret=Secret(SECRET))
        with closing(job.ledger), suppress(Reached):
            parts_of(job)["curate"](Builder(home, plan_of(job).steps, Silent(), UNTIL), {})
    with connect(home.warehouse) as db:
        return contents(db)


def look(file: Path) -> dict[str, tuple[int, str]]:
    """Return the contents of a published file."""
    with connect(file, read_only=True) as db:
        return contents(db)


if __name__ == "__main__":
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    places = [Path(place) for place in sys.argv[1:]]
    print(json.dumps(look(*places) if len(places) == 1 else curate_alone(*places)))
