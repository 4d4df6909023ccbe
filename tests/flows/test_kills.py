"""Builds that are killed without warning at any moment, and started again."""

import random
import re
import signal
import sqlite3
import threading
import time
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.slow

TABLES = 22
STEP_SECONDS = 0.4
"""About as long as what comes after a table is told: the next stage, or publishing what is there."""


class Killed:
    """A build that is killed a while after it told of so many tables."""

    def __init__(self, alpsbench, home, after_tables, seconds):
        self.build = alpsbench.start("build", "--home", home)
        self.told: list[str] = []
        self.enough = threading.Event()
        self.after = after_tables
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        assert self.enough.wait(120), self.told
        time.sleep(seconds)
        self.was_running = self.build.poll() is None
        self.build.send_signal(signal.SIGKILL)
        self.build.wait()
        reader.join()

    def _read(self):
        if not self.after:
            self.enough.set()
        for line in self.build.stdout:
            self.told += re.findall(r"^✓ (\w+):", line)
            if len(self.told) >= self.after:
                self.enough.set()
        self.enough.set()


def servers_of(home):
    """The processes that still work in a home, but for this one: by what they were started with."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{home}/.build".encode() in environment:
            found.append(process.name)
    return found


def wait_until_nothing_runs(home, seconds=10):
    deadline = time.monotonic() + seconds
    while servers_of(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert servers_of(home) == []


def states_of(home):
    with sqlite3.connect(home / ".build" / "prefect" / "prefect.db") as db:
        return {state for (state,) in db.execute("select distinct state_type from flow_run").fetchall()}


def tables_of(home):
    """What every table holds, but for times and attempts."""
    with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
        names = {name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall()}
        held = {
            name: db.execute(f"select count(*), bit_xor(hash(t)) from {name} as t").fetchall()
            for name in names - {"builds", "calls"}
        }
        log = "select name, position, fingerprint, reads, item, items_in, rows, dropped from builds order by position"
        return held, db.execute(log).fetchall()


def pages_of(home):
    """The pages of the Data Docs, without the time that stands in the paths of some."""
    return sorted(path.name for path in (home / "data_docs").rglob("*.html"))


def check_that_nothing_tells_of_the_kills(home, undisturbed, hashes_of):
    assert hashes_of(home / "releases") == hashes_of(undisturbed / "releases")
    assert tables_of(home) == tables_of(undisturbed)
    assert pages_of(home) == pages_of(undisturbed)
    assert {path.name for path in home.iterdir()} == {path.name for path in undisturbed.iterdir()}
    assert {path.name for path in (home / ".build").iterdir()} == {
        path.name for path in (undisturbed / ".build").iterdir()
    }
    assert states_of(home) <= {"COMPLETED", "CRASHED"}
    wait_until_nothing_runs(home)


@pytest.mark.parametrize("number", range(6))
def test_a_build_that_was_killed_goes_on_to_the_same_release(alpsbench, sample_home, tmp_path, hashes_of, number):
    home, chance = tmp_path / "killed", random.Random(number)
    after_tables = chance.randrange(number * TABLES // 6, (number + 1) * TABLES // 6)

    killed = Killed(alpsbench, home, after_tables, chance.uniform(0, STEP_SECONDS))

    assert killed.was_running
    wait_until_nothing_runs(home)
    shown = alpsbench.succeed("build", "--home", home)
    built = re.findall(r"^✓ (\w+):", shown, flags=re.MULTILINE)
    assert set(built).isdisjoint(killed.told)
    assert TABLES - 1 <= len(built) + len(killed.told) <= TABLES  # one may be done and not yet told
    check_that_nothing_tells_of_the_kills(home, sample_home, hashes_of)


def test_a_build_that_is_killed_again_and_again_ends_at_the_same_release(alpsbench, sample_home, tmp_path, hashes_of):
    home, chance = tmp_path / "killed", random.Random("again")

    for tables in (1, 4, 6):
        Killed(alpsbench, home, tables, chance.uniform(0, STEP_SECONDS))
        wait_until_nothing_runs(home)
    alpsbench.succeed("build", "--home", home)

    check_that_nothing_tells_of_the_kills(home, sample_home, hashes_of)


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_build_that_is_killed_after_its_last_table_still_publishes_and_documents(
    alpsbench, sample_home, tmp_path, hashes_of, seconds
):
    home = tmp_path / "killed"

    killed = Killed(alpsbench, home, TABLES, seconds)

    assert len(killed.told) == TABLES
    alpsbench.succeed("build", "--home", home)
    check_that_nothing_tells_of_the_kills(home, sample_home, hashes_of)
    assert "unchanged" in alpsbench.succeed("build", "--home", home, seconds=60)


def test_a_log_that_a_dead_reader_left_is_not_replayed_into_what_is_published_next(alpsbench, home):
    stray = home / "alpsbench.duckdb.wal"
    stray.write_bytes(b"left by a process that was killed")

    alpsbench.succeed("build", "--home", home, "--set", "updates.noise_turns=4")

    assert not stray.exists()
    assert "audits" in alpsbench.succeed("sql", "from funnel", "--home", home)


def test_a_write_ahead_log_that_is_damaged_is_told_with_the_way_out(alpsbench, home):
    (home / ".build" / "warehouse.duckdb").write_bytes(b"no database at all")

    refused = alpsbench("build", "--home", home)

    assert refused.returncode == 4
    [line] = refused.stderr.splitlines()
    assert line.startswith(f"alpsbench: {home}/.build/warehouse.duckdb cannot be opened")
    assert "remove it and its .wal, and build again" in line
