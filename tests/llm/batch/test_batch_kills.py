"""A run of many calls in batch jobs whose process is killed again and again, at moments that nobody chose."""

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from llm.batch_rows import BatchRows
from llm.ledger import Ledger

pytestmark = pytest.mark.slow
TOTAL = 2000
KILLS = 12
KINDS = ["prose", "wrong_type", "content_empty", "reasoning_only", "length_cured", "429", "500", "error_object"]
CHILD = """
import json, sys
from datetime import date

from pydantic import BaseModel

from llm.catalogue import Entry, Price
from llm.gateway import Model, Prompt, Request
from llm.jobs import Jobs
from llm.ledger import Ledger
from llm.served import Served

class Count(BaseModel):
    number: int

url, ledger, total = sys.argv[1], sys.argv[2], int(sys.argv[3])
price = Price(input=1.0, output=2.0, source="a page", date=date(2026, 11, 1), batch_factor=0.5)
served = Served(Entry("fable", url, "fable-2", price=price, timeout_seconds=30), None, jobs=Jobs(0.02, calls=250))
print("begun", flush=True)
model = Model(served, Ledger(ledger), most_nano_usd=10**12)
requests = [Request(f"s{number}", {"number": number}) for number in range(total)]
try:
    outcomes = model.ask(Prompt("a_stage", "Say how many."), requests, Count)
except KeyboardInterrupt:
    sys.exit(130)
print(json.dumps([[one.status, one.answer and one.answer.number, one.detail] for one in outcomes]), flush=True)
"""


@pytest.fixture
def start(loopback):
    """Start a process that asks for all, through a ledger, and wait until it begins."""
    with contextlib.ExitStack() as stack:

        def do(path):
            command = [sys.executable, "-c", CHILD, loopback.url, str(path), str(TOTAL)]
            child: Any = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(child.kill)
            assert child.stdout.readline() == "begun\n"
            return child

        yield do


def plan(loopback):
    loopback.reset()
    loopback.plan(
        seed=11, batch_seconds=0.4, fault_share=0.3, max_faults_per_subject=1, permanent_share=0.02, kinds=KINDS
    )


def kinds_of(loopback):
    found = loopback.seen()["identities"]
    return [[one["kind"] for one in found[str(number)]] for number in range(TOTAL)]


def outcomes_of(child):
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    return json.loads(output)


def check_ledger(loopback, path):
    """Compare the ledger with what the server charged."""
    ledger = Ledger(path)
    totals = loopback.totals()
    assert totals["charged_unseen"]["attempts"] == 0, "each answer was fetched"
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
    sums = ledger.db.execute(
        f"select count(*), {', '.join(f'sum({name})' for name in names)} from calls where nano_usd > 0"
    )
    assert dict(zip(("attempts", *names), sums.fetchone(), strict=True)) == totals["charged"]
    made = ledger.db.execute("select count(*) from calls where status <> 'cancelled'").fetchone()
    assert made == (totals["attempts"],)
    assert ledger.db.execute("select count(*) from calls where status = 'pending'").fetchone() == (0,)
    assert ledger.spending().held_nano_usd == 0
    assert BatchRows(ledger).running("fable") == []


def test_a_run_that_is_killed_again_and_again_comes_to_the_same_and_pays_for_nothing_twice(loopback, start, tmp_path):
    plan(loopback)
    undisturbed = outcomes_of(start(tmp_path / "undisturbed.sqlite"))
    kinds = kinds_of(loopback)
    check_ledger(loopback, tmp_path / "undisturbed.sqlite")
    assert all(number in (None, place) for place, (_, number, _) in enumerate(undisturbed))
    assert 1900 < sum(status == "ok" for status, *_ in undisturbed) < TOTAL

    moments = random.Random(11)
    kills = runs = 0
    while kills < KILLS:
        plan(loopback)
        runs += 1
        path = tmp_path / f"{runs}.sqlite"
        # A few kills each: what is left after many is nearly nothing.
        outcomes, some = killed_at(lambda path=path: start(path), [moments.uniform(0, 1.2) for _ in range(4)])
        kills += some
        assert outcomes == undisturbed
        differ = [
            place for place, (one, other) in enumerate(zip(kinds, kinds_of(loopback), strict=True)) if one != other
        ]
        # What never succeeds is asked for again by a run that does not know how often others tried.
        assert all(undisturbed[place][0] != "ok" for place in differ)
        check_ledger(loopback, path)


def killed_at(start, moments):
    """Kill a run so many seconds after it began, and the next one; give the last one's outcomes, and how many died."""
    kills = 0
    for seconds in moments:
        child = start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        if child.poll() is not None:
            return outcomes_of(child), kills
        child.send_signal(signal.SIGKILL)
        child.communicate()
        kills += 1
    return outcomes_of(start()), kills


def test_after_ctrl_c_the_jobs_go_on_and_the_next_run_takes_them_up(loopback, start, tmp_path):
    loopback.plan(batch_seconds=5)
    path = tmp_path / "ledger.sqlite"
    child = start(path)
    ledger = Ledger(path)
    while BatchRows(ledger).under_way() < TOTAL // 250:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=30)
    assert (child.returncode, output) == (130, "")
    assert BatchRows(ledger).under_way() == TOTAL // 250
    assert outcomes_of(start(path)) == [["ok", number, None] for number in range(TOTAL)]
    assert loopback.totals()["api"]["POST /v1/batches"] == {"ok": TOTAL // 250}
    check_ledger(loopback, path)
