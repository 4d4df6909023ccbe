"""Collects conversations once, as a build does or by one DuckDB query, and prints what that took as JSON.

python bench/collecting.py ours|profiled|bare SOURCE HOME
"""

import json
import os
import sys
import time
from contextlib import closing, suppress
from cProfile import Profile
from pathlib import Path
from pstats import Stats

import duckdb

ROOT = Path(__file__).resolve().parent.parent
UNTIL = "dialogues"
SECRET = "bench"
Part = tuple[str, float, float]
SHORTEST, LONGEST = 6, 249
BARE = r"""
    create table dialogues as
    select
        'd' || sha256(concat_ws('|', conversation_hash, hashed_ip, epoch_us(timestamp)::varchar, model))[:16]
            as dialogue_id,
        'u' || sha256($secret || '|' || hashed_ip)[:16] as user_id,
        conversation_hash,
        language,
        timestamp as ended_at,
        len(conversation)::integer as messages,
        len(list_filter(conversation, lambda m: m.role = 'user'))::integer as rounds,
        list_transform(conversation, lambda m: struct_pack(
            role := m.role, "text" := regexp_replace(m.content, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]', '', 'g')
        )) as turns,
        true as user_known,
        'wildchat_1m' as source_schema,
        parse_filename(filename) || ':' || file_row_number as source_row
    from read_parquet($files, filename = true, file_row_number = true)
    where len(conversation) between $shortest and $longest
"""
MADE = """
    select sum(rows)::bigint, count(*), bit_xor(text)::varchar
    from (
        select count(*) as rows, hash(dialogue_id, min(hash(turns))) as text from dialogues group by dialogue_id
    )
"""
TOLD_SHARE = 0.02
"""Functions that take less of a stage are not told."""


class Clock:
    """A watcher that takes the time of each stage, its commit included, and on demand of every function in it."""

    def __init__(self, *, profiled: bool) -> None:
        self.profiled, self.seconds, self.parts = profiled, dict[str, float](), dict[str, list[Part]]()

    def starting(self) -> None:
        return

    def started(self, name: str) -> None:
        self._profile = Profile()
        if self.profiled:
            self._profile.enable()
        self._begun = time.monotonic()

    def counted(self, name: str, done: int, total: int) -> None:
        return

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None:
        self.seconds[name] = time.monotonic() - self._begun
        if self.profiled:
            self._profile.disable()
            self.parts[name] = parts_of(self._profile, TOLD_SHARE * self.seconds[name])


def parts_of(profile: Profile, least_seconds: float) -> list[Part]:
    """Return the functions of the project that take as long or longer, with and without what they call."""
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = Stats(profile).stats  # type: ignore[attr-defined]
    parts = [
        (f"{Path(file).relative_to(ROOT)} {function}", seconds, itself)
        for (file, _, function), (_, _, itself, seconds, _) in stats.items()
        if seconds >= least_seconds and file.startswith(str(ROOT)) and ".venv" not in file and function[0] != "<"
    ]
    return sorted(parts, key=lambda part: -part[1])


def collect(source: Path, home_path: Path, *, profiled: bool) -> dict[str, object]:
    """Build `conversations` and `dialogues` by the project's own plan and builder, without Prefect."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    begun = time.monotonic()
    import great_expectations.expectations  # noqa: F401 # the checks import it late; here it is told apart

    from flows.build import Builder, Reached
    from flows.command import job_of
    from flows.recipe_file import read_recipe
    from flows.run import parts_of, plan_of
    from flows.settings import Settings
    from stages.secret import Secret
    from warehouse import Home

    imported = time.monotonic()
    home, clock = Home(home_path), Clock(profiled=profiled)
    home.make()
    with home.building():
        job = job_of(Settings(), home, source, read_recipe(None), UNTIL, secret=Secret(SECRET))
        hashed, worked = time.monotonic(), time.process_time()
        with closing(job.ledger), suppress(Reached):
            job.source.check()
            parts_of(job)["curate"](Builder(home, plan_of(job).steps, clock, UNTIL), {})
    ended = time.monotonic()
    return {
        "imports": imported - begun,
        "hashes": hashed - imported,
        "seconds": ended - hashed,
        "cpu_seconds": time.process_time() - worked,
        "stages": clock.seconds,
        "parts": clock.parts,
    } | described(home.warehouse)


def query(source: Path, folder: Path) -> dict[str, object]:
    """Make the same table by one query; give seconds to the end of the checkpoint."""
    folder.mkdir(parents=True)
    files = [str(path) for path in sorted(source.rglob("*.parquet"))]
    begun, worked = time.monotonic(), time.process_time()
    with duckdb.connect(str(folder / "bare.duckdb")) as db:
        db.execute("set TimeZone = 'UTC'")
        db.execute(BARE, {"files": files, "secret": SECRET, "shortest": SHORTEST, "longest": LONGEST})
        db.execute("checkpoint")
    seconds = {"seconds": time.monotonic() - begun, "cpu_seconds": time.process_time() - worked}
    return seconds | described(folder / "bare.duckdb")


def described(file: Path) -> dict[str, object]:
    """Return what a table `dialogues` holds, and the peak of this process's memory before that, in MiB."""
    peak = peak_mebibytes()
    with duckdb.connect(str(file), read_only=True) as db:
        columns = [row[0] for row in db.execute("describe dialogues").fetchall()]
        [(rows, dialogues, texts)] = db.execute(MADE).fetchall()
    return {"mebibytes": peak, "columns": columns, "rows": rows, "dialogues": dialogues, "texts": texts}


def peak_mebibytes() -> float:
    """Return the most memory that this process has had, as Linux tells it."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    way, source, place = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    print(json.dumps(query(source, place) if way == "bare" else collect(source, place, profiled=way == "profiled")))
