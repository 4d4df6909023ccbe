"""A hard limit on money, kept by several processes at once over a server that counts by itself."""

import signal
import time

import pytest

pytestmark = pytest.mark.slow

PRICE = {"price": [1.0, 2.0], "max_tokens": 50}
"""In dollars per million tokens: a call costs some 25,000 billionths, and may cost half a million."""
MOST_A_CALL = 900_000
TOTAL = 500


def nano_usd(totals):
    """Work out what the server has charged, whether anybody has seen it or not."""
    parts = (totals["charged"], totals["charged_unseen"])
    return sum(1000 * part["prompt_tokens"] + 2000 * part["completion_tokens"] for part in parts)


@pytest.fixture
def watch(loopback, ledger):
    """Look at the money all the time until some processes end, and give the most that either side ever counted."""

    def until_the_end_of(askers):
        by_server, by_ledger = [0], [0]
        while any(asker.process.poll() is None for asker in askers):
            by_server.append(nano_usd(loopback.totals()))
            by_ledger.append(ledger.spending().most)
            time.sleep(0.005)
        by_server.append(nano_usd(loopback.totals()))
        by_ledger.append(ledger.spending().most)
        return max(by_server), max(by_ledger)

    return until_the_end_of


def test_two_processes_never_spend_more_than_there_is_and_more_money_goes_on(
    loopback, start_asking, watch, ledger, endings
):
    kinds = ["never", "cut_body", "429_ms", "500", "prose", "content_empty", "length_cured"]
    loopback.plan(
        latency_ms=10, jitter_ms=10, fault_share=0.1, max_faults_per_subject=1, kinds=kinds, retry_after_seconds=0.01
    )
    told = {**PRICE, "total": TOTAL, "concurrency": 64, "timeout_seconds": 4}
    most = 15_000_000

    askers = [start_asking(**told, first=first, most_nano_usd=most) for first in (0, TOTAL)]
    by_server, by_ledger = watch(askers)

    assert [asker.told()["error"][0] for asker in askers] == ["BudgetError"] * 2
    assert by_server <= most
    assert most - MOST_A_CALL < by_ledger <= most, "it stopped because the money was out, and not before"
    answered = [subject for subject, status in endings(ledger) if status == "ok"]
    assert len(answered) > 20

    askers = [start_asking(**told, first=first, most_nano_usd=50 * most) for first in (0, TOTAL)]
    watch(askers)

    assert [asker.told()["outcomes"] for asker in askers] == [
        [["ok", number, None] for number in range(first, first + TOTAL)] for first in (0, TOTAL)
    ]
    last = [subject for subject, status in endings(ledger) if status == "ok"]
    assert sorted(last) == sorted(f"s{number}" for number in range(2 * TOTAL)), "each was answered once in all"
    assert loopback.totals()["answered_again"] == 0


def test_money_is_used_to_the_last_when_every_cost_is_known(loopback, start_asking, watch):
    loopback.plan(latency_ms=5)
    most = 5_000_000

    askers = [
        start_asking(**PRICE, total=TOTAL, first=first, concurrency=64, most_nano_usd=most) for first in (0, TOTAL)
    ]
    by_server, by_ledger = watch(askers)

    assert [asker.told()["error"][0] for asker in askers] == ["BudgetError"] * 2
    assert by_ledger <= most
    assert most - MOST_A_CALL < by_server <= most


def test_a_server_that_does_not_say_what_it_used_is_counted_at_its_most(loopback, start_asking, watch, endings, ledger):
    loopback.plan(latency_ms=5, usage="none")
    most = 5_000_000

    asker = start_asking(**PRICE, total=TOTAL, concurrency=64, most_nano_usd=most)
    by_server, by_ledger = watch([asker])

    assert asker.told()["error"][0] == "BudgetError"
    assert by_server < most - MOST_A_CALL < by_ledger <= most
    assert {status for _, status in endings(ledger)} == {"ok"}


def test_a_model_without_a_price_is_not_asked_while_there_is_a_budget(loopback, start_asking):
    told = start_asking(total=5, most_nano_usd=10**9).told()

    assert told["error"][0] == "BudgetError"
    assert "no price" in told["error"][1]
    assert loopback.totals()["attempts"] == 0


def test_what_killed_calls_may_have_cost_still_counts(loopback, start_asking, wait_for, ledger, endings):
    loopback.plan(script={"*": "never"})
    told = {**PRICE, "total": TOTAL, "concurrency": 16}
    asker = start_asking(**told)
    wait_for(16, asker)
    asker.process.send_signal(signal.SIGKILL)
    asker.process.communicate()
    loopback.plan()

    held = ledger.spending().most
    rerun = start_asking(**told, most_nano_usd=held + 1).told()

    assert 16 * 400_000 < held < 16 * MOST_A_CALL
    assert {status for _, status in endings(ledger)} == {"lost"}
    assert rerun["error"][0] == "BudgetError"
    assert f"up to ${held / 1e9:.4f} that nobody can tell" in rerun["error"][1]
    assert loopback.totals()["attempts"] == 16

    assert [status for status, _, _ in start_asking(**told, most_nano_usd=100 * held).told()["outcomes"]] == [
        "ok"
    ] * TOTAL
