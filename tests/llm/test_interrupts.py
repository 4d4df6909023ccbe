"""A run that a person stops."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from llm.gateway import Model

TOTAL = 600


@pytest.mark.parametrize("attempts", [1, 100, 300])
def test_a_run_that_is_stopped_ends_cleanly_and_the_next_asks_the_rest(
    loopback, start_asking, wait_for, ledger, endings, attempts
):
    loopback.plan(latency_ms=20, jitter_ms=20)
    asker = start_asking(total=TOTAL)
    wait_for(attempts, asker)

    asker.process.send_signal(signal.SIGINT)
    output, errors = asker.process.communicate(timeout=30)

    assert (asker.process.returncode, output, errors) == (130, "", "")
    statuses = [status for _, status in endings(ledger)]
    assert set(statuses) <= {"ok", "cancelled"}
    assert 0 < statuses.count("cancelled") <= 32
    assert statuses.count("ok") < TOTAL

    rerun = start_asking(total=TOTAL).told()

    assert rerun["outcomes"] == [["ok", number, None] for number in range(TOTAL)]
    assert rerun["calls"] == TOTAL - statuses.count("ok")
    assert "pending" not in {status for _, status in endings(ledger)}


def test_what_a_stopped_run_may_have_cost_stays_held(loopback, start_asking, wait_for, ledger, rows_of):
    loopback.plan(latency_ms=20, jitter_ms=20)
    asker = start_asking(total=TOTAL, price=[1.0, 1.0])
    wait_for(100, asker)
    asker.process.send_signal(signal.SIGINT)
    asker.process.communicate(timeout=30)

    rows = rows_of(ledger, "status", "usd", "held_usd")
    assert {(usd is None, held) for status, usd, held in rows if status == "ok"} == {(False, 0)}
    held = [held for status, _, held in rows if status == "cancelled"]
    # Those that the server saw; what was only written down holds nothing.
    assert sum(one > 0 for one in held) >= loopback.totals()["attempts"] - (len(rows) - len(held))


def test_a_person_who_is_impatient_is_heard_too(loopback, start_asking, wait_for):
    loopback.plan(script={"*": "never"})
    asker = start_asking(total=TOTAL)
    wait_for(32, asker)
    for _ in range(3):
        asker.process.send_signal(signal.SIGINT)
    asker.process.communicate(timeout=30)
    assert asker.process.returncode in (130, -signal.SIGINT)


def test_a_run_in_a_thread_leaves_ctrl_c_to_the_main_one(paid, prompt, requests, count):
    provider = paid(lambda input: '{"number": 1}')
    with ThreadPoolExecutor(1) as threads:
        outcomes = threads.submit(Model(provider).ask, prompt, requests(9), count).result(60)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 9
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
