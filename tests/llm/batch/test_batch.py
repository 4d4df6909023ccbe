"""Many requests in batch jobs, against a server in a process of its own whose counts are compared with the ledger's."""

import asyncio
import json
import urllib.request
from collections import Counter
from typing import Any

import pytest

from llm.errors import ModelError
from llm.jobs import Jobs

TO_SEND, TO_HAND_IN, TO_LOOK, TO_READ = (
    *("POST /v1/files", "POST /v1/batches"),
    *("GET /v1/batches/{id}", "GET /v1/files/{id}/content"),
)


def ok(*numbers):
    return [("ok", number) for number in numbers]


def test_requests_are_answered_in_order_by_several_jobs_at_the_price_of_a_batch(
    ask, tries, is_settled, rows_of, ledger
):
    assert ask(25, calls=10) == ok(*range(25))
    assert (tries(TO_SEND), tries(TO_HAND_IN)) == (3, 3)
    is_settled()
    assert set(rows_of(ledger, "way", "status", "held_usd")) == {("batch", "ok", 0.0)}


def test_a_job_is_no_larger_than_its_bytes_but_holds_a_call_of_any_size(ask, tries, is_settled):
    assert ask(5, size_bytes=1) == ok(*range(5))
    assert tries(TO_HAND_IN) == 5
    assert ask(9, size_bytes=1500) == ok(*range(9))
    assert tries(TO_HAND_IN) == 5 + 2
    is_settled()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_befalls_single_calls_each_is_answered_or_says_why_not(
    loopback, ask, ledger, is_settled, statuses, seed
):
    kinds = ["rate_limits", "server_errors", "bodies", "bad_answers", "bad_requests", "cut_body", "never"]
    loopback.plan(seed=seed, fault_share=0.3, permanent_share=0.1, kinds=kinds, batch_seconds=0.02)
    outcomes = ask(300, calls=70)
    assert all(number in (None, place) for place, (_, number) in enumerate(outcomes))
    attempts = [[one["kind"] for one in kinds] for kinds in by_number(loopback)]
    ended = Counter(status for status, _ in outcomes)
    # Read off the last attempt at each: what a model can make of prose and fences is known, all else is no answer.
    good = {"ok", "fenced", "prose_json"}
    assert [status == "ok" for status, _ in outcomes] == [kinds[-1] in good for kinds in attempts]
    assert ended["ok"] > 200
    assert all(len(kinds) <= 1 + 4 for kinds in attempts), "nothing is asked for ever"
    is_settled()
    seen = statuses(ledger)
    assert seen.total() == loopback.totals()["attempts"]
    assert seen["ok"] == ended["ok"]


def by_number(loopback):
    found = loopback.seen()["identities"]
    return [found[str(number)] for number in range(len(found))]


def test_items_that_ask_the_same_share_one_call(model, loopback, prompt, requests, count):
    twice = [*requests(3), *requests(3)]
    outcomes = model().ask(prompt, twice, count)
    assert [one.answer.number for one in outcomes] == [0, 1, 2, 0, 1, 2]
    assert loopback.totals()["attempts"] == 3


@pytest.mark.parametrize("first", ["batch", "live"])
def test_what_one_way_answered_the_other_knows(ask, loopback, is_settled, first):
    ways: list[dict[str, Any]] = [{"calls": 4}, {"jobs": None, "factor": 0.5}]
    for way in ways if first == "batch" else reversed(ways):
        assert ask(10, **way) == ok(*range(10))
    assert loopback.totals()["attempts"] == 10
    assert {one["via"] for kinds in by_number(loopback) for one in kinds} == {first}


def test_known_answers_need_no_server(ask, model, prompt, requests, count):
    ask(10)
    elsewhere = model(url="http://127.0.0.1:9/v1")
    assert [one.answer.number for one in elsewhere.ask(prompt, requests(10), count)] == list(range(10))
    assert elsewhere.calls == 0


@pytest.mark.parametrize(
    ("kinds", "rows", "end"),
    [
        (["prose"], ["schema_error", "ok"], "ok"),
        (["prose", "wrong_type"], ["schema_error", "schema_error"], "schema_error"),
        (["length_cured", "length_cured"], ["truncated", "ok"], "ok"),
        (["length_cut", "length_cut"], ["truncated", "truncated"], "truncated"),
        (["content_empty", "content_null"], ["empty", "empty", "ok"], "ok"),
        (["reasoning_only"] * 3, ["reasoning_only"] * 3, "reasoning_only"),
        (["filter_text"], ["filtered"], "filtered"),
        (["refusal"], ["refused"], "refused"),
        (["400_context_length"], ["too_long"], "too_long"),
        (["400"], ["http_error"], "http_error"),
        (["429", "500", "html"], ["rate_limited", "server_error", "server_error", "ok"], "ok"),
        (["error_object", "empty_list"], ["server_error", "empty", "ok"], "ok"),
        (["500"] * 9, ["server_error"] * 5, "server_error"),
    ],
)
def test_a_call_that_went_wrong_is_handed_in_again_where_that_may_help(
    ask, loopback, ledger, endings, is_settled, kinds, rows, end
):
    loopback.plan(script={"0": kinds})
    [(status, _)] = ask(1)
    assert (status, [one for _, one in endings(ledger)]) == (end, rows)
    is_settled()


def test_after_an_answer_of_another_form_the_model_is_shown_it(ask, loopback):
    loopback.plan(script={"0": ["prose"]})
    ask(1)
    [[first, second]] = by_number(loopback)
    assert second["prompt_tokens"] > first["prompt_tokens"]


def test_a_few_that_always_fail_do_not_stop_a_run_though_they_end_last(ask, loopback):
    loopback.plan(script={str(number): "500" for number in range(50)})
    outcomes = ask(1000)
    assert Counter(status for status, _ in outcomes) == {"ok": 950, "server_error": 50}
    assert ask(1000)[50:] == ok(*range(50, 1000)), "nor the next run, in which all others are known"


def test_a_run_in_which_next_to_nothing_is_answered_stops(ask, loopback, is_settled):
    loopback.plan(script={"*": "prose", "0": []})
    with pytest.raises(ModelError, match=r"19 of all 20 calls failed \(19 schema_error\)"):
        ask(20)
    is_settled()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("402", "has no balance (402)"), ("429_quota", "has no balance (429)"), ("401", "key is not accepted (401)")],
)
def test_a_refusal_that_goes_for_all_calls_stops_the_run_and_the_next_asks_the_rest(
    ask, loopback, is_settled, kind, reason
):
    loopback.plan(script={str(number): [kind] for number in range(4, 8)})
    with pytest.raises(ModelError) as error:
        ask(8)
    assert str(error.value).endswith(f"{reason}; the answers so far are kept")
    assert ask(8) == ok(*range(8))
    assert [len(kinds) for kinds in by_number(loopback)] == [1] * 4 + [2] * 4
    is_settled()


def test_what_an_expired_job_did_not_come_to_is_handed_in_again(ask, loopback, ledger, statuses, is_settled):
    loopback.plan(batch_outcomes=["expired", "expired"], batch_done_share=0.25)
    assert ask(16) == ok(*range(16))
    assert statuses(ledger) == {"ok": 16, "server_error": 12 + 9}
    assert loopback.totals()["attempts"] == 16
    is_settled()


def test_a_job_that_is_expired_for_ever_is_given_up_in_the_end(ask, loopback, tries, is_settled):
    loopback.plan(batch_outcomes=["expired"] * 9, batch_done_share=0)
    assert ask(3) == [("server_error", None)] * 3
    assert tries(TO_HAND_IN) == 5
    is_settled()


def test_a_call_without_a_line_is_handed_in_again_and_what_it_may_have_cost_stays_held(
    ask, loopback, rows_of, ledger, is_settled
):
    loopback.plan(batch_outcomes=["missing_line"])
    assert ask(8) == ok(*range(8))
    [(detail, held)] = [row[1:] for row in rows_of(ledger, "status", "detail", "held_usd") if row[0] == "unreachable"]
    assert detail == "no line"
    assert held > 500 * 2e-6 / 2, "as much as the longest answer"
    is_settled(unseen=1)


def test_a_line_that_comes_twice_is_one_answer(ask, loopback, is_settled):
    loopback.plan(batch_outcomes=["doubled_line"])
    assert ask(8) == ok(*range(8))
    is_settled()


def test_a_job_that_is_too_much_is_handed_in_again_in_smaller_ones(ask, loopback, ledger, tries, statuses, is_settled):
    loopback.plan(batch_max_lines=3)
    assert ask(8) == ok(*range(8))
    # 8 are too many, and so are 4; then 2 at once.
    assert tries(TO_HAND_IN) == 1 + 1 + 4
    assert statuses(ledger) == {"cancelled": 8 + 4, "ok": 8}
    assert loopback.totals()["attempts"] == 8
    is_settled()


def test_where_only_some_jobs_fit_the_others_wait_for_them(ask, loopback, tries, is_settled):
    loopback.plan(batch_outcomes=["completed", "failed", "failed"])
    assert ask(12, calls=4) == ok(*range(12))
    assert tries(TO_HAND_IN) == 3 + 3  # then 6 at once: 4 and 2, and 2 more
    is_settled()


def test_a_job_that_fails_however_small_it_is_stops_the_run(ask, loopback, ledger, statuses, is_settled):
    loopback.plan(batch_outcomes=["failed"] * 9)
    with pytest.raises(ModelError, match=r"a batch job failed \(token_limit_exceeded\); the answers so far are kept"):
        ask(4)
    assert statuses(ledger) == {"cancelled": 4 + 2 + 1}
    assert ledger.spending().most == 0
    is_settled()


@pytest.mark.parametrize("where", [TO_SEND, TO_HAND_IN])
def test_a_server_that_takes_no_jobs_holds_no_money(ask, loopback, ledger, is_settled, where):
    loopback.plan(script={where: "404"}, endpoints=["files", "batches"])
    with pytest.raises(ModelError, match="not known there"):
        ask(4, most=10**9)
    assert ledger.spending().most == 0
    assert ask(4, jobs=None) == ok(*range(4))


class Cancelling(Jobs):
    """Somebody cancels every job while this waits for them."""

    url = None

    async def wait(self):
        with urllib.request.urlopen(f"{self.url}/batches") as response:
            jobs = json.load(response)["data"]
        for job in jobs:
            if job["status"] in ("validating", "in_progress", "finalizing"):
                urllib.request.urlopen(urllib.request.Request(f"{self.url}/batches/{job['id']}/cancel", b"")).close()
        await asyncio.sleep(0.005)


def test_a_job_that_somebody_cancels_stops_the_run_and_the_next_asks_the_rest(ask, loopback, is_settled):
    loopback.plan(batch_outcomes=["never"], batch_seconds=0.1)
    jobs = Cancelling(0.005)
    jobs.url = loopback.url
    with pytest.raises(ModelError, match="fable: a batch job was cancelled; the answers so far are kept"):
        ask(8, jobs=jobs)
    assert loopback.totals()["charged"]["attempts"] == 4
    assert ask(8) == ok(*range(8))
    assert loopback.totals()["attempts"] == 8
    is_settled()


def test_answers_that_are_gone_are_asked_for_again_and_stay_held(ask, loopback, ledger, statuses, rows_of):
    loopback.plan(script={TO_READ: ["404"] * 3}, endpoints=["files"])
    assert ask(4) == ok(*range(4))
    assert statuses(ledger) == {"unreachable": 4, "ok": 4}
    assert all(held > 0 for status, held in rows_of(ledger, "status", "held_usd") if status == "unreachable")


def test_a_server_that_is_in_trouble_for_a_while_is_waited_for(ask, loopback, tries, is_settled):
    kinds = ["503", "reset", "html", "cut_body", "500", "cut_before", "502", "429"]
    loopback.plan(script={TO_LOOK: kinds, TO_READ: kinds}, endpoints=["batches", "files"])
    assert ask(8) == ok(*range(8))
    assert (tries(TO_HAND_IN), tries(TO_LOOK)) == (1, 9)
    is_settled()
