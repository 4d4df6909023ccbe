import asyncio
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.attempts import Reply
from llm.errors import ModelError
from llm.pace import Alarm, Pace, Patience, retry_after_of

OK, BUSY = Reply("ok"), Reply("rate_limited")


def test_a_round_of_answers_adds_one_call():
    pace = Pace(32, cut_seconds=0)
    for _ in range(2):
        pace.note(BUSY)
    assert pace.limit == 8
    for _ in range(8):
        pace.note(OK)
    assert 8.9 < pace.limit <= 9
    for _ in range(9):
        pace.note(OK)
    assert 9.9 < pace.limit <= 10


@pytest.mark.parametrize("status", ["rate_limited", "timeout", "server_error"])
def test_an_overload_halves_the_limit_down_to_one(status):
    pace = Pace(32, cut_seconds=0)
    limits = []
    for _ in range(7):
        pace.note(Reply(status))
        limits.append(pace.limit)
    assert limits == [16, 8, 4, 2, 1, 1, 1]


def test_a_burst_of_one_overload_halves_the_limit_once():
    pace = Pace(32, cut_seconds=3600)
    for _ in range(32):
        pace.note(BUSY)
    assert pace.limit == 16


@pytest.mark.parametrize("status", ["unreachable"])
def test_a_cut_connection_is_no_overload_and_no_answer(status):
    pace = Pace(32, cut_seconds=0)
    pace.note(BUSY)
    pace.note(Reply(status))
    assert pace.limit == 16


@given(st.integers(1, 64), st.lists(st.sampled_from(["ok", "empty", "rate_limited", "timeout", "unreachable"])))
def test_the_limit_stays_between_one_and_the_most(most, statuses):
    pace = Pace(most, cut_seconds=0)
    for status in statuses:
        pace.note(Reply(status))
        assert 1 <= pace.limit <= most


def most_at_once(pace, calls):
    """Make so many calls that each last a few ticks, and return how many were under way at once at the most."""
    under_way, most = 0, 0

    async def call():
        nonlocal under_way, most
        async with pace.turn():
            under_way += 1
            most = max(most, under_way)
            for _ in range(3):
                await asyncio.sleep(0)
            under_way -= 1

    async def run():
        await asyncio.gather(*(call() for _ in range(calls)))

    asyncio.run(run())
    return most


def test_as_many_calls_are_under_way_as_the_limit_says_in_one_loop_after_another():
    pace = Pace(16, cut_seconds=0)
    assert most_at_once(pace, 100) == 16
    pace.note(BUSY)
    assert most_at_once(pace, 100) == 8


def test_a_limit_that_is_cut_holds_for_those_who_wait_already():
    pace = Pace(8, cut_seconds=0)

    async def run():
        busy, seen = 0, []

        async def call(number):
            nonlocal busy
            async with pace.turn():
                busy += 1
                seen.append(busy)
                await asyncio.sleep(0)
                pace.note(BUSY if number == 0 else Reply("unreachable"))
                await asyncio.sleep(0)
                busy -= 1

        await asyncio.gather(*(call(number) for number in range(40)))
        return seen

    seen = asyncio.run(run())
    assert max(seen[:8]) == 8
    assert max(seen[16:]) == 4


def test_a_pause_that_one_call_is_told_holds_for_all():
    pace = Pace(4)

    async def run():
        async with pace.turn():
            pace.note(Reply("rate_limited", retry_after=0.2))
        told = time.monotonic()

        async def turn():
            async with pace.turn():
                return time.monotonic() - told

        return await asyncio.gather(*(turn() for _ in range(8)))

    assert min(asyncio.run(run())) >= 0.199


def test_a_shorter_pause_does_not_end_a_longer_one():
    pace = Pace(4)
    before = time.monotonic()
    for seconds in (500.0, 0.0, 3.0):
        pace.note(Reply("rate_limited", retry_after=seconds))
    assert pace.open_at >= before + 500


def test_an_address_that_wants_no_calls_for_too_long_stops_the_run():
    pace = Pace(4)
    pace.note(Reply("rate_limited", retry_after=900.0))
    with pytest.raises(ModelError, match=r"^the address wants no calls for 3,600 s \(rate_limited\)$"):
        pace.note(Reply("rate_limited", retry_after=3600.0))
    with pytest.raises(ModelError, match="wants no calls for inf s"):
        pace.note(Reply("rate_limited", retry_after=float("inf")))


NOW = 1_796_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0),
        ({"retry-after": "Sun, 29 Nov 2026 23:33:20 -0000"}, 0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "inf"}, float("inf")),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({}, None),
    ],
)
def test_what_a_server_says_of_when_to_come_again_is_read_in_each_form(headers, seconds):
    assert retry_after_of(headers, NOW) == seconds


@given(st.text())
def test_any_nonsense_is_a_pause_or_none(text):
    for name in ("retry-after", "retry-after-ms"):
        seconds = retry_after_of({name: text}, NOW)
        assert seconds is None or seconds >= 0


def replies_of(patience, *replies):
    """Retry over these replies, and return what came of it and how many were taken."""
    left = list(replies)

    async def once():
        return left.pop(0)

    return asyncio.run(patience.retrying()(once)), len(replies) - len(left)


def test_what_fails_in_passing_is_tried_again_until_it_is_answered():
    patience = Patience(8, 0.0001, 0.001)
    passing = [Reply(status) for status in ("rate_limited", "timeout", "server_error", "unreachable")]
    assert replies_of(patience, *passing, OK, BUSY) == (OK, 5)


@pytest.mark.parametrize("attempts", [1, 3, 8])
def test_patience_ends_with_the_last_reply(attempts):
    assert replies_of(Patience(attempts, 0.0001, 0.001), *[BUSY] * 20) == (BUSY, attempts)


@pytest.mark.parametrize("status", ["schema_error", "truncated", "filtered", "refused", "too_long", "http_error"])
def test_what_does_not_pass_is_not_tried_again(status):
    assert replies_of(Patience(8, 0.0001, 0.001), Reply(status), OK) == (Reply(status), 1)


def test_a_call_waits_at_least_as_long_as_it_was_told():
    started = time.monotonic()
    replies_of(Patience(3, 0.0001, 0.001), Reply("rate_limited", retry_after=0.1), Reply("server_error"), OK)
    assert time.monotonic() - started >= 0.1


def test_a_run_whose_last_calls_hardly_get_through_is_stopped_however_many_were_answered_before():
    alarm = Alarm()
    alarm.know(5000)
    for _ in range(5000):
        alarm.note("ok")
    for status in ["timeout", "server_error", "unreachable"] * 14 + ["rate_limited", "timeout"]:
        alarm.note(status)
    with pytest.raises(ModelError, match="^45 of the last 50 calls failed "):
        alarm.note("rate_limited")


def test_a_run_in_which_hardly_anything_is_answered_is_stopped_whatever_the_answers_lack():
    alarm = Alarm()
    alarm.note("ok")
    for _ in range(9):
        alarm.note("schema_error")
    with pytest.raises(ModelError, match=r"^10 of all 11 calls failed \(1 empty, 9 schema_error\)$"):
        alarm.note("empty")


@pytest.mark.parametrize("status", ["filtered", "refused", "too_long", "truncated"])
def test_what_is_one_items_own_trouble_stops_nothing(status):
    alarm = Alarm()
    for _ in range(100):
        alarm.note(status)


def test_what_always_fails_does_not_stop_a_run_whose_other_calls_an_earlier_one_had_answered():
    alarm = Alarm()
    alarm.know(880)
    for _ in range(60):
        alarm.note("refused")


def test_a_run_in_which_fewer_fail_goes_on():
    alarm = Alarm()
    for _ in range(100):
        for status in ["ok"] + ["timeout"] * 7:
            alarm.note(status)


def test_a_few_failures_at_the_beginning_stop_nothing():
    alarm = Alarm()
    for _ in range(9):
        alarm.note("schema_error")


def test_endings_that_come_together_are_counted_together():
    alarm = Alarm()
    alarm.note_all(["http_error"] * 50 + ["ok"] * 10)
    with pytest.raises(ModelError, match=r"^90 of all 100 calls failed \(90 http_error\)$"):
        alarm.note_all(["http_error"] * 40)
