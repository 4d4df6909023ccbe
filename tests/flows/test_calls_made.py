"""What is told of the calls of a build after it."""

from datetime import UTC, datetime, timedelta

import pytest

from flows.calls_made import attempts_in, failures_in
from llm.attempts import Usage
from llm.ledger import Ending, Intent, Ledger
from warehouse import connect

CHECKS = 'create table leak_checks (item_id text, "check" text, verdict text, evidence text)'
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def db():
    db = connect()
    db.execute("""
        insert into builds (name, position) values ('dialogues', 2), ('candidate_memories', 5), ('memories', 6)
    """)
    return db


def drop(db, stage, reason, count):
    db.execute("insert into dropped select $stage, i, $reason, null from range($count) t(i)",
               {"stage": stage, "reason": reason, "count": count})  # fmt: skip


def test_items_that_were_dropped_in_passing_are_told_with_the_first_table_to_build_again(db):
    drop(db, "memories", "timeout", 2)
    drop(db, "candidate_memories", "timeout", 7)
    drop(db, "candidate_memories", "rate_limited", 3)
    drop(db, "candidate_memories", "schema_error", 50)
    drop(db, "dialogues", "too_few_turns", 900)

    assert list(failures_in(db)) == [
        "12 items were dropped for failures that may pass (9 timeout, 3 rate_limited): "
        "the same build with --again candidate_memories asks again"
    ]


def test_one_item_is_told_as_one(db):
    drop(db, "memories", "timeout", 1)

    assert next(failures_in(db)).startswith("1 item was dropped for failures that may pass (1 timeout): ")


def test_where_nothing_was_dropped_in_passing_nothing_is_told(db):
    drop(db, "candidate_memories", "filtered", 3)
    db.execute(CHECKS)

    assert list(failures_in(db)) == []


def test_queries_that_were_not_audited_in_passing_are_told_too(db):
    db.execute(CHECKS)
    db.execute("""
        insert into leak_checks values
            ('i1', 'auditor', 'not_measured', 'timeout'), ('i2', 'auditor', 'not_measured', 'server_error'),
            ('i3', 'auditor', 'not_measured', 'refused'), ('i4', 'auditor', 'leaks', 'timeout'),
            ('i5', 'lexical', 'passed', 'timeout')
    """)

    [told] = failures_in(db)

    assert told.startswith("2 queries were not audited for failures that may pass (")
    assert told.endswith("): the same build with --again leak_checks asks again")


@pytest.fixture
def published(db):
    """Draw attempts and give the database that has them: `published((model, status, spent, held), ...)`."""

    def make(*attempts):
        ledger = Ledger()
        for number, (model, status, spent, held, *way) in enumerate(attempts):
            call = ledger.begin(Intent(str(number), model, "memories", "", *way, most_nano_usd=held))
            if status != "pending":
                ending = Ending(status, usage=Usage(), nano_usd=spent, held_nano_usd=held, seconds=1.0)
                ledger.end(call, ending)
        db.from_arrow(ledger.rows()).create("calls")
        return db

    return make


def test_the_calls_of_a_build_are_told_with_what_they_came_to(published):
    db = published(
        *[("fable", "ok", 1_000_000_000, 0)] * 3,
        ("fable", "timeout", None, 500_000_000),
        *[("story", "rate_limited", None, 0)] * 2,
        ("rules", "ok", None, 0),
        ("fable", "ok", 9_000_000_000, 0, "served"),
    )

    assert attempts_in(db, {"fable", "story"}, LONG_AGO) == (
        "6 calls, 3 answered, 2 rate_limited, 1 timeout: $3.00 and up to $0.50 that nobody can tell"
    )


def test_where_no_paid_call_was_made_nothing_is_told(published):
    db = published(("rules", "ok", None, 0))

    assert attempts_in(db, {"fable"}, LONG_AGO) is None
    assert attempts_in(db, set(), LONG_AGO) is None


def test_calls_of_earlier_builds_are_not_counted(published):
    db = published(("fable", "ok", 1_000_000_000, 0))

    assert attempts_in(db, {"fable"}, datetime.now(UTC) + timedelta(hours=1)) is None
    assert attempts_in(db, {"fable"}, datetime.now(UTC) - timedelta(hours=1)) == "1 call, 1 answered: $1.00"
