import contextlib
import sqlite3
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.attempts import Usage
from llm.ledger import Ending, Intent, Ledger
from warehouse import DamagedError

BEFORE = """
    create table calls (
        key text not null, model text not null, prompt text not null, subject text not null, status text not null,
        answer text, prompt_tokens integer, completion_tokens integer, seconds real not null,
        ended_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
    );
    create index known on calls (key) where answer is not null;
    insert into calls values
        ('k1', 'fable', 'a_stage', 's1', 'ok', '{"a": 1}', 11, 7, 0.5, '2026-11-01T00:00:00.000Z'),
        ('k2', 'fable', 'a_stage', 's2', 'truncated', null, null, null, 0.25, '2026-11-01T00:00:01.000Z');
"""


def intent(key="k", most_nano_usd=0, subject="s", way="live", batch=None):
    return Intent(key, "fable", "a_stage", subject, way, most_nano_usd, batch)


def add(ledger, key="k", answer="{}", status="ok", **more):
    call = ledger.begin(intent(key, subject=more.pop("subject", "s")))
    ledger.end(call, Ending(status, answer=answer, usage=Usage(11, 2, 7, 3), seconds=0.5, **more))
    return call


def test_an_answer_is_known_by_its_key_alone(ledger):
    for key, answer in (("one", '{"a": 1}'), ("other", '{"a": 2}')):
        add(ledger, key, answer)
    assert ledger.answers(["third", "other", "one"]) == {"one": '{"a": 1}', "other": '{"a": 2}'}
    assert ledger.answers([]) == {}


def test_answers_of_more_keys_than_one_statement_takes_are_found(ledger):
    with ledger.transaction():
        for number in range(1201):
            add(ledger, f"k{number}", str(number))
    keys = [f"k{number}" for number in range(2000)]
    assert ledger.answers(keys) == {f"k{number}": str(number) for number in range(1201)}


def test_attempts_without_an_answer_are_kept_and_answer_nothing(ledger, endings):
    add(ledger, answer=None, status="truncated")
    ledger.begin(intent())
    assert ledger.answers(["k"]) == {}
    assert endings(ledger) == [("s", "truncated"), ("s", "pending")]


def test_the_last_answer_of_a_key_counts(ledger):
    for answer in ("old", "new"):
        add(ledger, answer=answer)
    add(ledger, answer=None, status="empty")
    assert ledger.answers(["k"]) == {"k": "new"}


def test_an_attempt_is_a_row_before_it_is_made(ledger, rows_of):
    call = ledger.begin(intent(most_nano_usd=5_000_000))
    [row] = rows_of(ledger)
    assert (row["call"], row["status"], row["usd"], row["held_usd"]) == (call, "pending", None, 0.005)
    assert (row["ended_at"], row["seconds"]) == (None, None)


def test_the_published_rows_hold_no_answer_and_no_key(ledger, rows_of):
    ledger.end(
        ledger.begin(intent("KEY", 9, "d1")),
        Ending("ok", answer="SECRET ANSWER", usage=Usage(11, 2, 7, 3), nano_usd=1_500_000, seconds=0.5),
    )
    [row] = rows_of(ledger)
    now = datetime.now(UTC)
    for name in ("started_at", "ended_at"):
        assert timedelta(0) <= now - datetime.fromisoformat(row.pop(name)) < timedelta(minutes=5)
    assert row == {
        **{"call": 1, "model": "fable", "prompt": "a_stage", "subject": "d1", "way": "live", "status": "ok"},
        **{"detail": None, "prompt_tokens": 11, "cached_tokens": 2, "completion_tokens": 7, "reasoning_tokens": 3},
        **{"usd": 0.0015, "held_usd": 0.0, "seconds": 0.5},
    }


def test_rows_come_in_parts_and_an_empty_ledger_has_the_columns_of_a_full_one(ledger):
    empty = Ledger()
    with ledger.transaction():
        for number in range(45_000):
            ledger.begin(intent(f"k{number}"))
    sizes = [batch.num_rows for batch in ledger.rows()]
    assert (sum(sizes), max(sizes) < 45_000) == (45_000, True)
    assert ledger.rows().read_all()["call"].to_pylist() == list(range(1, 45_001))
    assert empty.rows().read_all().num_rows == 0
    assert empty.rows().schema == ledger.rows().schema
    assert empty.rows().schema.field("call").type == pa.int64()


def test_money_that_does_not_suffice_begins_nothing(ledger, endings):
    assert ledger.begin(intent(most_nano_usd=60), 100) == 1
    assert ledger.begin(intent(most_nano_usd=41), 100) is None
    assert ledger.begin(intent(most_nano_usd=40), 100) == 2
    assert ledger.begin(intent(most_nano_usd=1), 100) is None
    assert ledger.begin(intent(most_nano_usd=1)) == 3, "without a limit"
    assert len(endings(ledger)) == 3


def test_money_that_was_held_is_given_back_when_the_attempt_ends(ledger):
    call = ledger.begin(intent(most_nano_usd=100), 100)
    assert ledger.pending_nano_usd() > 0
    ledger.end(call, Ending("ok", nano_usd=30))
    assert ledger.pending_nano_usd() == 0
    assert (ledger.spending().nano_usd, ledger.spending().held_nano_usd) == (30, 0)
    assert ledger.begin(intent(most_nano_usd=71), 100) is None
    assert ledger.begin(intent(most_nano_usd=70), 100) is not None


MONEY = st.integers(0, 10**12)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), MONEY, st.none() | st.integers(0, 10**13)),
        st.tuples(st.just("end"), st.integers(0, 20), st.none() | MONEY, MONEY),
        st.just(("roll back",)),
    ),
    max_size=40,
)


def take(ledger, step):
    """Begin an attempt, end one, perhaps for the second time, or begin one in a transaction that is rolled back."""
    kind, *values = step
    if kind == "begin":
        ledger.begin(intent(most_nano_usd=values[0]), values[1])
    elif kind == "end":
        call, nano_usd, held = values
        ledger.end(call, Ending("ok", nano_usd=nano_usd, held_nano_usd=held))
    else:
        with contextlib.suppress(ZeroDivisionError), ledger.transaction():
            ledger.begin(intent(most_nano_usd=77))
            raise ZeroDivisionError


@settings(deadline=None)
@given(STEPS)
def test_spending_is_the_sum_of_the_rows_after_whatever_was_begun_and_ended(steps):
    ledger = Ledger()
    for step in steps:
        take(ledger, step)
        sums = ledger.db.execute("select sum(coalesce(nano_usd, 0)), sum(held_nano_usd) from calls").fetchone()
        assert (ledger.spending().nano_usd, ledger.spending().held_nano_usd) == tuple(one or 0 for one in sums)
    ledger.db.close()


def test_an_old_ledger_is_carried_over_with_its_answers(tmp_path, rows_of):
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(BEFORE)
    old.close()
    for _ in range(2):
        ledger = Ledger(path)
        assert ledger.answers(["k1", "k2"]) == {"k1": '{"a": 1}'}
        names = ("call", "subject", "way", "status", "prompt_tokens", "completion_tokens", "usd", "held_usd", "seconds")
        assert rows_of(ledger, *names) == [
            (1, "s1", "live", "ok", 11, 7, None, 0.0, 0.5),
            (2, "s2", "live", "truncated", None, None, None, 0.0, 0.25),
        ]
        assert rows_of(ledger, "ended_at")[0] == ("2026-11-01T00:00:00.000Z",)
        assert ledger.spending().most == 0
        assert ledger.db.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert ledger.begin(intent()) == 3


def test_a_ledger_without_a_path_is_nobody_elses():
    one, other = Ledger(), Ledger()
    add(one)
    assert other.answers(["k"]) == {}


def test_the_file_can_be_read_by_any_client_while_it_is_open(ledger):
    add(ledger)
    with sqlite3.connect(f"file:{ledger.path}?mode=ro", uri=True) as reader:
        assert reader.execute("select count(*) from calls").fetchall() == [(1,)]
        assert reader.execute("pragma journal_mode").fetchall() == [("wal",)]
    reader.close()


@pytest.mark.parametrize("content", [b"no database at all, " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_told_with_a_way_out(tmp_path, content):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=rf"^the ledger {path} cannot be read \(.*\); move it away and build again"):
        Ledger(path)
    assert path.read_bytes() == content
