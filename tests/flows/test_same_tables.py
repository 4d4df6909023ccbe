"""Tables are the same however a source is cut and ordered, whoever does the work, and wherever the clock stands."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from wildchat import Corpus

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("curated_tables.py")
CONVERSATIONS = 600
UNTIL = "samples"


def contents(*places, **environment):
    """Look into a file, or build from a source in a home, in a process of its own."""
    command = [sys.executable, str(SCRIPT), *map(str, places)]
    path = str(SCRIPT.parent.parent.parent)
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path} | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: tuple(found) for name, found in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def shards_of(tmp_path_factory):
    """Write the same conversations in so many shards."""

    def write(shards, **more):
        folder = tmp_path_factory.mktemp(f"of-{shards}-")
        Corpus(CONVERSATIONS, shards, **more).write(folder, processes=1)
        return folder

    return write


@pytest.fixture(scope="module")
def expected(shards_of, tmp_path_factory):
    """What the tables hold from one shard, by a clock in UTC."""
    found = contents(shards_of(1), tmp_path_factory.mktemp("home"), TZ="UTC", PYTHONHASHSEED="0")
    counts = {name: rows for name, (rows, _) in found.items()}
    assert counts["conversations"] == CONVERSATIONS
    assert min(counts.values()) > 0
    return found


@pytest.mark.parametrize(
    ("shards", "more", "environment"),
    [
        (2, {}, {"TZ": "Asia/Kolkata"}),
        (8, {}, {"TZ": "America/New_York", "PYTHONHASHSEED": "7"}),
        (3, {"shuffled": True}, {}),
        (2, {"json_lines": True, "shuffled": True}, {"TZ": "America/New_York"}),
    ],
)
def test_tables_do_not_depend_on_shards_order_form_or_clock(expected, shards_of, tmp_path, shards, more, environment):
    assert contents(shards_of(shards, **more), tmp_path / "home", **environment) == expected


def test_tables_do_not_depend_on_who_does_the_work(expected, shards_of, alpsbench, tmp_path):
    told = alpsbench.succeed(
        "build", "--source", shards_of(4), "--home", tmp_path / "home", "--until", UNTIL, "--runner", "dask"
    )

    assert f"✓ {UNTIL}" in told
    assert contents(tmp_path / "home/alpsbench.duckdb") == expected
    assert list((tmp_path / "home/.build/shards").iterdir()) == []


def test_a_worker_that_is_killed_costs_its_work_and_nothing_else(expected, shards_of, alpsbench, tmp_path):
    home = tmp_path / "home"
    build = alpsbench.start("build", "--source", shards_of(4), "--home", home, "--until", UNTIL, "--runner", "dask")
    killed = []
    ended = threading.Event()

    def kill():
        """Kill one worker while it reads shards, and one while models are asked."""
        for stage in ("read_shard", "read_dialogues"):
            while not ended.is_set():
                sent = list((home / ".build/shards").glob(f"*/{stage}-*/*-in.parquet"))
                workers = [one for one in psutil.Process(build.pid).children(recursive=True) if is_worker(one)]
                if sent and workers:
                    workers[0].send_signal(signal.SIGKILL)
                    killed.append(stage)
                    break
                time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    output, errors = build.communicate(timeout=300)
    ended.set()
    killer.join()

    assert build.returncode == 0, errors
    assert killed == ["read_shard", "read_dialogues"]
    assert contents(home / "alpsbench.duckdb") == expected


def is_worker(process):
    """Say whether a process is a worker of Dask's: a child that its nanny made by spawning."""
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False
