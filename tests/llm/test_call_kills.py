"""A run of calls that is killed without warning, again and again, and started anew each time."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from llm.ledger import Ledger

pytestmark = pytest.mark.slow

TOTAL = 2000
KILLS = 20
CONCURRENCY = 32
FARTHEST = 90
"""So many attempts a life makes at the most before it is killed: all of them together do not reach the end."""
FAULTS = ["429_ms", "500", "cut_body", "content_empty", "prose", "length_cured", "fenced"]


class Lives:
    """Runs the same calls in one process after another."""

    def __init__(self, folder, **told):
        self.output = folder / "told.json"
        self.told = {"output": str(self.output), **told}
        command = [sys.executable, str(Path(__file__).with_name("ask_loopback.py"))]
        self.nursery = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self):
        """Start the next one, and give its number."""
        self.nursery.stdin.write(json.dumps(self.told) + "\n")
        self.nursery.stdin.flush()
        return int(self.nursery.stdout.readline())

    def end(self):
        """Wait until it is gone."""
        assert self.nursery.stdout.readline() == "gone\n"

    def close(self):
        self.nursery.stdin.close()
        self.nursery.wait(60)
        self.nursery.stdout.close()


@pytest.fixture(scope="module")
def story(once, started_loopback, tmp_path_factory):
    """What came of it all: what was told, seen and written down, and how many calls were under way at each kill."""
    return SimpleNamespace(**once("kills", lambda: live_through(started_loopback, tmp_path_factory.mktemp("kills"))))


def live_through(server, folder):
    draw, under_way, path = random.Random(5), [], folder / "ledger.sqlite"
    server.reset()
    server.plan(
        latency_ms=5, jitter_ms=20, fault_share=0.1, max_faults_per_subject=1, kinds=FAULTS, retry_after_seconds=0.01
    )
    known = {"url": server.url, "ledger": str(path), "price": [1.0, 2.0]}
    lives = Lives(folder, **known, total=TOTAL, concurrency=CONCURRENCY)
    for _ in range(KILLS):
        enough = server.totals()["attempts"] + draw.randint(1, FARTHEST)
        child = lives.begin()
        while server.totals()["attempts"] < enough:
            time.sleep(0.001)
        time.sleep(draw.random() / 50)
        os.kill(child, signal.SIGKILL)
        lives.end()
        assert not lives.output.exists(), "it was killed before its end"
        under_way.append(pending_in(path))
    lives.begin()
    lives.end()
    lives.close()
    ledger, told = Ledger(path), json.loads(lives.output.read_text(encoding="utf-8"))
    return {
        "told": told,
        "seen": server.seen(),
        "rows": ledger.rows().read_all().to_pylist(),
        "nano_usd": ledger.spending().nano_usd,
        "most_nano_usd": ledger.spending().most,
        "under_way": under_way,
    }


def pending_in(path):
    """Count attempts under way, without a ledger that calls them lost."""
    with sqlite3.connect(path) as db:
        [count] = db.execute("select count(*) from calls where status = 'pending'").fetchone()
    db.close()
    return int(count)


def test_the_run_ends_as_if_nothing_had_happened(story):
    assert story.told["outcomes"] == [["ok", number, None] for number in range(TOTAL)]


def test_no_more_calls_are_under_way_at_a_kill_than_may_be_at_once(story):
    assert len(story.under_way) == KILLS
    assert 0 < max(story.under_way) <= CONCURRENCY


def test_what_was_under_way_at_a_kill_is_lost_and_nothing_is_left_pending(story):
    statuses = Counter(row["status"] for row in story.rows)
    assert statuses["pending"] == 0
    assert statuses["lost"] == sum(story.under_way)


def test_no_answer_is_paid_twice_but_those_under_way_at_a_kill(story):
    lost = Counter(row["subject"] for row in story.rows if row["status"] == "lost")
    for number, attempts in story.seen["identities"].items():
        answered = sum(attempt["kind"] == "ok" for attempt in attempts)
        assert answered <= 1 + lost[f"s{number}"], f"call {number}"
    assert story.seen["totals"]["answered_again"] <= sum(story.under_way)


def test_what_was_written_down_as_answered_is_not_asked_again(story):
    last = {row["subject"]: row["status"] for row in story.rows}
    answered = Counter(row["subject"] for row in story.rows if row["status"] == "ok")
    assert last == {f"s{number}": "ok" for number in range(TOTAL)}
    assert answered == dict.fromkeys(last, 1)


def test_each_attempt_that_the_server_saw_is_a_row(story):
    rows = Counter(row["subject"] for row in story.rows)
    lost = Counter(row["subject"] for row in story.rows if row["status"] == "lost")
    for number, attempts in story.seen["identities"].items():
        subject = f"s{number}"
        assert rows[subject] - lost[subject] <= len(attempts) <= rows[subject]


def test_no_money_is_forgotten(story):
    charged, unseen = story.seen["totals"]["charged"], story.seen["totals"]["charged_unseen"]
    nano_usd = sum(1000 * one["prompt_tokens"] + 2000 * one["completion_tokens"] for one in (charged, unseen))
    assert story.nano_usd <= nano_usd <= story.most_nano_usd
