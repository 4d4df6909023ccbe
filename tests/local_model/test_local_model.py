"""What must hold for any model, seen with a real one: SmolLM2-135M-Instruct in four bits, on this machine.

It is far too small for the task. Held to the schema by its server, 7 of 20 answers about dialogues of the sample had
the form: 11 ran on until they were cut at 512 tokens, 2 had raw line breaks inside strings (read by now). Without the
schema, 0 of 10 had it. About the very short dialogues here it is 8 of 12, cut at 256. Labels are made up, and what an
answer says is seldom about the user. So nothing here looks at that: only at what the pipeline makes of an answer.
"""

import sqlite3
from contextlib import closing

import duckdb
import pytest

from warehouse import Home

DIALOGUES = 4
REASONS = {"no_memories", "schema_error", "truncated", "too_long", "empty"}


@pytest.fixture
def home(builds):
    return builds.home


def ask(home, sql):
    with duckdb.connect(Home(home).published, read_only=True) as db:
        return db.execute(sql).fetchall()


def test_every_dialogue_is_kept_or_dropped_with_a_reason(home):
    dialogues = {row[0] for row in ask(home, "select dialogue_id from dialogues")}
    kept = {row[0] for row in ask(home, "select dialogue_id from candidate_memories")}
    dropped = dict(ask(home, "select item, reason from dropped where stage = 'candidate_memories'"))
    assert len(dialogues) == DIALOGUES
    assert kept | set(dropped) == dialogues
    assert not kept & set(dropped)
    assert set(dropped.values()) <= REASONS


def test_every_attempt_is_in_the_ledger_with_its_tokens(home):
    attempts = ask(home, "select model, prompt, subject, status, prompt_tokens, completion_tokens from calls")
    assert len(attempts) >= DIALOGUES
    assert {(model, prompt) for model, prompt, *_ in attempts} == {("smollm2", "candidate_memories")}
    hashes = ask(home, "select conversation_hash from dialogues")
    assert {subject for _, _, subject, *_ in attempts} == {row[0] for row in hashes}
    for *_, read, written in attempts:
        assert 500 < read < 4096  # the prompt alone has more than 500 tokens
        assert 0 < written <= 256  # what the catalogue allows


def test_a_dialogue_is_read_if_it_was_answered_and_else_dropped_for_what_its_attempts_came_to(home):
    read = """
        select conversation_hash, coalesce(reason, 'kept') from dialogues
        left join dropped on item = dialogue_id and stage = 'candidate_memories'
    """
    for subject, fate in ask(home, read):
        statuses = {status for one, status in ask(home, "select subject, status from calls") if one == subject}
        assert ("ok" if fate in ("kept", "no_memories") else fate) in statuses


def test_the_same_build_again_asks_nothing_and_changes_nothing(builds, home):
    everything = "select * from candidate_memories order by candidate_id"
    calls, made = ask(home, "from calls"), ask(home, everything)

    finished = builds()

    assert finished.returncode == 0, finished.stderr
    assert ask(home, "from calls") == calls
    assert ask(home, everything) == made


def test_a_lost_warehouse_is_made_again_without_paying_for_an_answer_twice(builds, home):
    """The answers are in the ledger; only what could not be read is asked for anew."""
    before = keys_of(home)
    for path in Home(home).work.glob("warehouse.duckdb*"):
        path.unlink()

    finished = builds()

    assert finished.returncode == 0, finished.stderr
    answered = {key for key, status in before if status == "ok"}
    again = {key for key, _ in keys_of(home)[len(before) :]}
    assert answered
    assert not answered & again


def keys_of(home):
    """What each attempt asked, as the ledger knows it, and how it ended."""
    with closing(sqlite3.connect(Home(home).ledger)) as db:
        return db.execute("select key, status from calls order by call").fetchall()
