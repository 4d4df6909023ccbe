"""Several processes at one ledger, and what is left when one of them dies."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import Any

import psutil
import pytest

from llm.ledger import Ending, Intent, Ledger

WRITER = """
import asyncio, sys
from llm.ledger import Ending, Intent, Ledger
from llm.scribe import Scribe

ledger = Ledger(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()

async def one(scribe, name):
    intent = Intent(name, "fable", "a_stage", sys.argv[2], most_nano_usd=1000)
    call = await scribe.write(lambda: ledger.begin(intent, int(sys.argv[3])))
    if call is not None:
        await scribe.write(lambda: ledger.end(call, Ending("ok", answer=name, nano_usd=1000)))
    return call is not None

async def run():
    scribe = Scribe(ledger)
    began = await asyncio.gather(*(one(scribe, f"{sys.argv[2]}{number}") for number in range(200)))
    await scribe.close()
    print(sum(began), flush=True)

asyncio.run(run())
"""
DYING = """
import sys
from llm.ledger import Ending, Intent, Ledger

ledger = Ledger(sys.argv[1])
for number in range(3):
    call = ledger.begin(Intent(f"k{number}", "fable", "a_stage", f"s{number}", most_nano_usd=100))
    if number == 0:
        ledger.end(call, Ending("ok", answer="known", nano_usd=40))
ledger.begin(Intent("k3", "fable", "a_stage", "s3", "batch", 100, "b1"))
print("pending", flush=True)
sys.stdin.readline()
"""
DURABLE = """
import asyncio, os, sys
from llm.ledger import Ending, Intent, Ledger
from llm.scribe import Scribe

async def run():
    ledger = Ledger(sys.argv[1])
    scribe = Scribe(ledger)
    call = await scribe.write(lambda: ledger.begin(Intent("k", "fable", "a_stage", "s")))
    await scribe.write(lambda: ledger.end(call, Ending("ok", answer="known")))
    os.kill(os.getpid(), 9)

asyncio.run(run())
"""
OPENER = """
import sys
from llm.ledger import Ledger

sys.stdin.readline()
Ledger(sys.argv[1])
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def start(path):
    """Start Python with the ledger's path and more; it is killed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def do(code, *more):
            command = [sys.executable, "-c", code, str(path), *map(str, more)]
            child: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(child)
            stack.callback(child.kill)
            return child

        yield do


def go(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()


@pytest.mark.parametrize("most", [10**9, 250_000], ids=["money for all", "money for some"])
def test_processes_write_at_once_and_nothing_is_lost_or_spent_twice(start, path, rows_of, most):
    names = "abcd"
    writers = [start(WRITER, name, most) for name in names]
    for writer in writers:
        assert writer.stdout.readline() == "open\n"
    go(writers)
    began = [int(writer.communicate(timeout=60)[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    ledger = Ledger(path)
    rows = rows_of(ledger, "subject", "status")
    assert [rows.count((name, "ok")) for name in names] == began
    assert len(rows) == sum(began) == min(800, most // 1000)
    assert (ledger.spending().nano_usd, ledger.spending().held_nano_usd) == (1000 * sum(began), 0)


def test_processes_that_begin_a_ledger_at_the_same_moment_do_not_get_in_each_others_way(start, path):
    openers = [start(OPENER) for _ in range(6)]
    go(openers)
    for opener in openers:
        opener.communicate(timeout=60)
    assert [opener.returncode for opener in openers] == [0] * 6
    assert Ledger(path).spending().most == 0


def test_what_a_scribe_has_written_outlives_the_process(start, path):
    child = start(DURABLE)
    child.wait(30)
    assert child.returncode == -signal.SIGKILL
    assert Ledger(path).answers(["k"]) == {"k": "known"}


def test_attempts_of_a_process_that_died_are_lost_and_their_money_stays_held(start, path, endings):
    child = start(DYING)
    assert child.stdout.readline() == "pending\n"
    alive = Ledger(path)
    assert [status for _, status in endings(alive)] == ["ok", "pending", "pending", "pending"], "it still lives"
    assert alive.spending().most == 340
    child.kill()
    child.wait()

    ledger = Ledger(path)

    assert endings(ledger) == [("s0", "ok"), ("s1", "lost"), ("s2", "lost"), ("s3", "pending")]
    assert (ledger.spending().nano_usd, ledger.spending().held_nano_usd) == (40, 300)
    assert ledger.answers(["k0", "k1"]) == {"k0": "known"}
    assert ledger.pending_nano_usd() == 0, "a batch goes on without a process, and nobody waits for its money"


def test_a_process_that_died_and_that_nobody_has_buried_is_dead(start, path, endings):
    child = start(DYING)
    assert child.stdout.readline() == "pending\n"
    os.kill(child.pid, signal.SIGKILL)
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert endings(Ledger(path))[1] == ("s1", "lost")


def test_a_process_that_took_the_number_of_a_dead_one_is_not_taken_for_it(path, endings):
    ledger = Ledger(path)
    ledger.begin(Intent("k", "fable", "a_stage", "s"))
    ledger.db.execute("update calls set process = ?", [f"{os.getpid()}@1000000000.00"])
    ledger.bury()
    assert endings(ledger) == [("s", "lost")]


def test_a_lost_attempt_that_comes_back_after_all_is_settled(path, endings):
    ledger = Ledger(path)
    call = ledger.begin(Intent("k", "fable", "a_stage", "s", most_nano_usd=100))
    ledger.db.execute("update calls set status = 'lost'")
    ledger.end(call, Ending("ok", answer="late", nano_usd=60))
    assert endings(ledger) == [("s", "ok")]
    assert ledger.spending().most == 60


def test_a_transaction_that_fails_leaves_nothing_and_nobody_waiting(path):
    ledger = Ledger(path)
    with contextlib.suppress(ZeroDivisionError), ledger.transaction():
        ledger.begin(Intent("k", "fable", "a_stage", "s", most_nano_usd=100))
        raise ZeroDivisionError
    with sqlite3.connect(path, timeout=1) as other:
        other.execute("begin immediate")
        assert other.execute("select count(*) from calls").fetchone() == (0,)
    assert ledger.spending().most == 0
