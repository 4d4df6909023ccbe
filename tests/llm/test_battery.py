"""Two thousand calls of a server that does everything wrong that servers do, each call followed to its end."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from loopback_kinds import BROKEN
from pydantic import BaseModel

from llm.catalogue import Entry, Price
from llm.gateway import Model, Prompt, Request
from llm.ledger import Ledger
from llm.pace import Pace, Patience
from llm.served import Served

pytestmark = pytest.mark.slow

TOTAL = 2000
PROMPT = Prompt("a_stage", "Say how many.")
STATUSES = """
    ok             ok fenced prose_json
    rate_limited   429 429_seconds 429_date 429_ms
    server_error   500 502 503 503_seconds 409 529 error_object
    timeout        408 never slow slow_body
    unreachable    cut_before reset cut_headers cut_body
    empty          html not_json empty_body empty_object empty_list no_choices null_message
    empty          content_empty content_null content_blank
    reasoning_only reasoning_only
    truncated      length_cut length_complete length_cured
    filtered       filter_text filter_empty filter_null 400_content_filter
    refused        refusal
    schema_error   prose two_values missing_field wrong_type nan cut
    too_long       400_context_length
    http_error     400 422
"""
STATUS_OF = {kind: status for status, *kinds in map(str.split, STATUSES.strip().splitlines()) for kind in kinds}
PASSING = {"rate_limited", "server_error", "timeout", "unreachable"}
ATTEMPTS = {"schema_error": 2, "truncated": 2, "empty": 3, "reasoning_only": 3}
"""How many bad answers of one kind it takes until a call is given up; 1 for all that are not here."""
DATED = {str(number): ["429_date", "429_date"] for number in (41, 1001)}
"""A date has whole seconds, for which all calls wait: a few of them must do."""
FAULTS = [kind for kind in STATUS_OF if kind not in ("ok", "429_date")]
FOREVER = {40 * place: kind for place, kind in enumerate(FAULTS)}
"""These numbers get the same fault each time: far from one another, so that the run goes on."""


class Count(BaseModel):
    number: int


@pytest.fixture(scope="module")
def run(once, started_loopback, tmp_path_factory):
    """All that came of a run: how each call ended, what the server saw of it, and its rows in the ledger."""
    return SimpleNamespace(**once("battery", lambda: run_through(started_loopback, tmp_path_factory.mktemp("battery"))))


def run_through(server, folder):
    price = Price(input=1.0, cached_input=0.5, output=2.0, source="a page", date=date(2026, 11, 1))
    entry = Entry("loopback", server.url, "loopback", price=price, timeout_seconds=4.0)
    served = Served(entry, None, max_tokens=500, pace=Pace(64), patience=Patience(8, 0.005, 0.05))
    # The first call ever takes long by itself, for the client is loaded.
    Model(served).ask(PROMPT, [Request("first", {"number": -1})], Count)
    server.reset()
    server.plan(
        seed=7,
        latency_ms=2,
        jitter_ms=10,
        fault_share=0.3,
        kinds=FAULTS,
        max_faults_per_subject=4,
        burst=3,
        script=DATED | {str(number): kind for number, kind in FOREVER.items()},
        retry_after_seconds=0.05,
        slow_seconds=20,
        cured_above=2000,
    )
    ledger = Ledger(folder / "ledger.sqlite")
    requests = [Request(str(number), {"number": number}) for number in range(TOTAL)]
    outcomes = Model(served, ledger).ask(PROMPT, requests, Count)
    rows: dict[str, list[dict[str, Any]]] = {request.subject: [] for request in requests}
    for row in ledger.rows().read_all().to_pylist():
        rows[row["subject"]].append(row)
    return {
        "outcomes": [[outcome.status, outcome.answer and outcome.answer.number] for outcome in outcomes],
        "seen": (seen := server.seen())["identities"],
        "totals": seen["totals"],
        "rows": rows,
        "nano_usd": ledger.spending().nano_usd,
        "held_nano_usd": ledger.spending().held_nano_usd,
    }


def status_of(attempt):
    """Say what the client must make of what the server did."""
    was_left = not attempt["written"] and attempt["kind"] not in BROKEN
    return "timeout" if was_left else STATUS_OF[attempt["kind"]]


def test_every_kind_of_fault_came(run):
    assert set(STATUS_OF) == set(run.totals["kinds"])
    faults = sum(count for kind, count in run.totals["kinds"].items() if kind != "ok")
    assert 0.25 < faults / run.totals["attempts"] < 0.45


def test_each_attempt_that_the_server_saw_is_a_row_that_says_what_it_was(run):
    for number in map(str, range(TOTAL)):
        seen = [status_of(attempt) for attempt in run.seen[number]]
        assert [row["status"] for row in run.rows[number]] == seen, f"call {number}"


def test_each_call_ends_well_or_for_the_reason_that_did_not_pass(run):
    for number, (status, answer) in enumerate(run.outcomes):
        statuses = [row["status"] for row in run.rows[str(number)]]
        assert (status, answer) == (statuses[-1], number if status == "ok" else None), f"call {number}"
        if status in PASSING:
            assert set(statuses[-8:]) <= PASSING
            assert len(statuses) >= 8
        elif status != "ok":
            assert statuses.count(status) == ATTEMPTS.get(status, 1), f"call {number}"


def test_what_fails_for_ever_is_given_up_with_the_servers_own_reason(run):
    for number, kind in FOREVER.items():
        status = STATUS_OF[kind]
        times = 8 if status in PASSING else ATTEMPTS.get(status, 1)
        assert [attempt["kind"] for attempt in run.seen[str(number)]] == [kind] * times, kind
        assert run.outcomes[number][0] == status, kind


def test_what_passes_by_itself_is_answered(run):
    for number, attempts in run.seen.items():
        if {STATUS_OF[attempt["kind"]] for attempt in attempts} <= PASSING | {"ok"} and int(number) not in FOREVER:
            assert run.outcomes[int(number)][0] == "ok", f"call {number}"


def test_nothing_is_asked_again_once_it_is_answered_or_before_it_may_be(run):
    assert run.totals["answered_again"] == 0
    assert run.totals["early"] == 0
    assert run.totals["max_in_flight"] <= 64


def test_the_ledger_counts_what_the_server_counts(run):
    charged = [
        attempt for attempts in run.seen.values() for attempt in attempts if attempt["charged"] and attempt["seen"]
    ]
    assert sum(map(len, run.rows.values())) == run.totals["attempts"]
    for name in ("prompt", "cached", "completion", "reasoning"):
        in_ledger = sum(row[f"{name}_tokens"] or 0 for rows in run.rows.values() for row in rows)
        assert in_ledger == sum(attempt[f"{name}_tokens"] for attempt in charged), name
    nano_usd = sum(
        1000 * (attempt["prompt_tokens"] - attempt["cached_tokens"])
        + 500 * attempt["cached_tokens"]
        + 2000 * attempt["completion_tokens"]
        for attempt in charged
    )
    assert run.nano_usd == nano_usd


def test_what_the_server_may_have_charged_unseen_is_held(run):
    unseen = run.totals["charged_unseen"]
    assert unseen["attempts"] > 0
    most = 1000 * unseen["prompt_tokens"] + 2000 * unseen["completion_tokens"]
    assert run.held_nano_usd >= most
