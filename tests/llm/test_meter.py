import asyncio
import contextlib
import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.attempts import Reply, Usage
from llm.catalogue import Price
from llm.errors import BudgetError, ModelError
from llm.gateway import Model
from llm.ledger import Ending, Intent, Ledger
from llm.meter import Meter, Terms
from llm.questions import Outcome, Request

DOLLAR = Price(input=1.0, output=1.0, source="a page", date=date(2026, 11, 1))
OK = Reply("ok", '{"number": 1}', usage=Usage(prompt=300, completion=100))


def numbered(input):
    return json.dumps({"number": input["number"]})


@pytest.fixture
def ask(prompt, requests, count, ledger):
    """Ask a provider so many requests through the ledger of the test, with so much money."""

    def do(provider, total=1, most=None):
        return Model(provider, ledger, most_nano_usd=most).ask(prompt, requests(total), count)

    return do


def test_each_attempt_is_a_row_with_its_status_tokens_and_cost(paid, in_turn, ask, ledger, rows_of):
    provider = paid(in_turn(Reply("rate_limited", detail="429"), OK), price=DOLLAR, cost=900_000)
    [outcome] = ask(provider)
    assert outcome.status == "ok"
    names = ("call", "status", "detail", "prompt_tokens", "completion_tokens", "usd", "held_usd")
    assert rows_of(ledger, *names) == [
        (1, "rate_limited", "429", None, None, None, 0.0),
        (2, "ok", None, 300, 100, 0.0004, 0.0),
    ]
    assert all(row["seconds"] >= 0 and row["started_at"] <= row["ended_at"] for row in rows_of(ledger))


@pytest.mark.parametrize("status", ["rate_limited", "timeout", "server_error", "unreachable"])
def test_what_does_not_pass_in_eight_attempts_is_the_end_of_that_request_alone(paid, ask, ledger, endings, status):
    provider = paid(lambda input: Reply(status, detail="x") if input["number"] == 1 else numbered(input))
    outcomes = ask(provider, 3)
    assert [outcome.status for outcome in outcomes] == ["ok", status, "ok"]
    assert (outcomes[1].answer, outcomes[1].detail) == (None, "x")
    assert sorted(endings(ledger)) == sorted([("s0", "ok"), *[("s1", status)] * 8, ("s2", "ok")])


@pytest.mark.parametrize(
    ("reply", "usd", "held"),
    [
        (OK, 0.0004, 0),
        (Reply("ok", '{"number": 1}'), None, 0.0009),
        (Reply("ok", "no form", usage=OK.usage), 0.0004, 0),
        (Reply("truncated", usage=OK.usage), 0.0004, 0),
        (Reply("filtered", usage=OK.usage), 0.0004, 0),
        (Reply("timeout"), None, 0.0009),
        (Reply("unreachable"), None, 0.0009),
        (Reply("rate_limited"), None, 0),
        (Reply("server_error"), None, 0),
        (Reply("http_error"), None, 0),
    ],
)
def test_what_nobody_can_tell_stays_held_at_its_most(paid, ask, ledger, rows_of, reply, usd, held):
    ask(paid(lambda input: reply, price=DOLLAR, cost=900_000))
    assert set(rows_of(ledger, "usd", "held_usd")) == {(usd, held)}


@pytest.mark.parametrize("reply", [Reply("ok", "no form"), Reply("truncated"), Reply("filtered"), Reply("refused")])
def test_a_bad_answer_without_usage_stays_held_too(paid, ask, ledger, rows_of, reply):
    ask(paid(lambda input: reply, price=DOLLAR, cost=900_000))
    assert set(rows_of(ledger, "held_usd")) == {(0.0009,)}


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_provider_that_cannot_be_used_stops_the_run_and_what_came_before_stays(
    paid, ask, ledger, endings, concurrency
):
    def breaks(input):
        return numbered(input) if input["number"] < 20 else Reply("http_error", detail="402", stops="no balance")

    broken = paid(breaks, concurrency)
    with pytest.raises(ModelError, match=r"^no balance$"):
        ask(broken, 1000)
    assert len(broken.asked) <= 20 + concurrency
    kept = endings(ledger)
    assert {(f"s{number}", "ok") for number in range(20)} < set(kept)
    assert {status for _, status in kept} <= {"ok", "http_error", "cancelled"}
    healed = paid(numbered, concurrency)
    assert [outcome.status for outcome in ask(healed, 30)] == ["ok"] * 30
    assert sorted(healed.asked) == sorted(f"s{number}" for number in range(20, 30))


def test_an_error_nobody_expected_is_told_and_its_attempt_is_settled(paid, ask, ledger, rows_of):
    def breaks(input):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(paid(breaks, price=DOLLAR, cost=900_000), 3)
    assert set(rows_of(ledger, "status", "held_usd")) == {("cancelled", 0.0009)}


def test_a_run_in_which_hardly_anything_is_answered_stops(paid, ask):
    refuses = paid(lambda input: Reply("http_error", detail="400"))
    with pytest.raises(ModelError, match=r"^10 of all 10 calls failed \(10 http_error\)$"):
        ask(refuses, 1000)
    assert len(refuses.asked) < 20


def test_what_costs_nothing_may_fail_as_often_as_it_likes(model_says, prompt, requests, count):
    outcomes = model_says(Reply("not_recorded")).ask(prompt, requests(1000), count)
    assert [outcome.status for outcome in outcomes] == ["not_recorded"] * 1000


def test_a_model_without_a_price_is_not_asked_while_there_is_a_budget(paid, ask):
    provider = paid(numbered)
    with pytest.raises(BudgetError, match="the catalogue has no price for the model"):
        ask(provider, most=10**9)
    assert provider.asked == []


def test_what_costs_nothing_may_be_asked_on_any_budget(model_says, prompt, requests, count):
    model = model_says({"number": 1})
    model.most_nano_usd = 0
    assert [outcome.status for outcome in model.ask(prompt, requests(3), count)] == ["ok"] * 3


def test_when_the_money_is_out_the_run_stops_and_more_money_goes_on(paid, ask, ledger, endings):
    provider = paid(lambda input: OK, 1, 900_000, price=DOLLAR)
    with pytest.raises(BudgetError) as error:
        ask(provider, 10, most=2_000_000)
    assert str(error.value) == (
        "the budget of $0.0020 does not suffice for another call, which may cost $0.0009: spent are $0.0012; "
        "the answers so far are kept: raise the budget and ask again"
    )
    assert endings(ledger) == [("s0", "ok"), ("s1", "ok"), ("s2", "ok")]
    assert [outcome.status for outcome in ask(provider, 10, most=10_000_000)] == ["ok"] * 10
    assert len(provider.asked) == 10


def test_a_call_waits_for_money_that_others_may_give_back(paid, ask, ledger):
    provider = paid(lambda input: OK, 8, 900_000, price=DOLLAR)
    # Held at once would be 7.2 thousandths of a dollar; one after another they cost 0.4 each.
    assert [outcome.status for outcome in ask(provider, 8, most=8 * 400_000 + 500_000)] == ["ok"] * 8
    assert ledger.spending().most == 8 * 400_000


def test_money_that_was_spent_before_counts(paid, ask, ledger):
    ledger.end(ledger.begin(Intent("k", "other", "p", "s")), Ending("ok", nano_usd=1_200_000))
    provider = paid(lambda input: OK, 1, 900_000, price=DOLLAR)
    with pytest.raises(BudgetError, match=r"spent are \$0.0012; "):
        ask(provider, most=2_000_000)
    assert provider.asked == []


def test_money_that_lost_attempts_hold_counts_and_is_told(paid, ask, ledger):
    ledger.begin(Intent("k", "other", "p", "s", most_nano_usd=1_200_000))
    ledger.db.execute("update calls set process = '1@0.00'")
    with pytest.raises(BudgetError, match=r"spent are \$0.0000 and up to \$0.0012 that nobody can tell; "):
        ask(paid(lambda input: OK, 1, 900_000, price=DOLLAR), most=2_000_000)


def test_an_attempt_that_is_cancelled_while_it_is_written_down_is_settled(ledger, endings):
    async def run():
        meter = Meter(ledger, Terms(is_paid=True))
        call = meter.call(Intent("k", "m", "p", "s"), send=never, read=lambda reply: Outcome(reply.status))
        task = asyncio.create_task(call)
        while meter.scribe.writing is None:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await meter.close()

    async def never():
        await asyncio.Event().wait()

    asyncio.run(run())
    assert endings(ledger) == [("s", "cancelled")]


USED = st.just(Usage()) | st.builds(Usage, prompt=st.integers(0, 500), completion=st.integers(0, 400))
REPLIES = st.builds(Reply, st.sampled_from(["ok", "schema_error", "truncated", "empty"]), usage=USED)
REPLIES |= st.builds(Reply, st.sampled_from(["timeout", "unreachable", "rate_limited", "http_error"]))


@settings(deadline=None)
@given(st.lists(REPLIES, max_size=20), st.integers(0, 5_000_000))
def test_no_money_is_spent_or_held_beyond_the_limit_whatever_comes_back(replies, most):
    ledger = Ledger()
    seen = []

    async def run(meter):
        for number, reply in enumerate(replies):

            async def send(reply=reply):
                seen.append(ledger.spending().most)
                return reply

            intent = Intent(f"k{number}", "m", "p", "s", most_nano_usd=900_000)
            await meter.call(intent, send, lambda reply: Outcome(reply.status))
            seen.append(ledger.spending().most)

    asyncio.run(ended(Meter(ledger, Terms(is_paid=True, price=DOLLAR), most), run))
    assert all(spent <= most for spent in seen)
    assert len(seen) == 2 * len(replies) or ledger.spending().most > most - 900_000, "it stopped before it had to"
    ledger.db.close()


async def ended(meter, run):
    """Run until the end, or until the money is out."""
    with contextlib.suppress(BudgetError):
        await run(meter)
    await meter.close()


def test_what_is_under_way_when_a_run_has_to_stop_is_waited_for_and_kept(paid, prompt, count, ledger, endings):
    def stops(input):
        return Reply("http_error", detail="402", stops="no balance") if input["number"] == 0 else numbered(input)

    asked = [Request(f"s{number}", {"number": number, "ticks": 200 * number}) for number in range(4)]
    with pytest.raises(ModelError, match="^no balance$"):
        Model(paid(stops, concurrency=3), ledger).ask(prompt, asked, count)
    assert sorted(endings(ledger)) == [("s0", "http_error"), ("s1", "ok"), ("s2", "ok")]
