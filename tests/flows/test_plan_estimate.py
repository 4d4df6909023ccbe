"""What calls would cost, worked out by hand."""

from datetime import date

import pytest

from flows.planning.amounts import dollars, tokens
from flows.planning.estimate import estimate_of, total_of, verdict_of
from flows.planning.forecast import Calls, Sizes
from flows.planning.usual import FIGURES, History, Spread, history_of
from llm.attempts import Usage
from llm.catalogue import Entry, Price
from llm.jobs import Jobs
from llm.ledger import Ending, Intent, Ledger, Spending
from llm.offline import Offline
from llm.served import Served

DAY = date(2026, 1, 1)
PRICE = Price(input=2.0, output=10.0, source="a drawn list", date=DAY, batch_factor=0.5)
NOBODY_KNOWS = History({})
KNOWN = Sizes(100, 100, is_known=True)
USD = 1_000_000_000


def provider(price=PRICE, max_tokens=1000, **more):
    return Served(Entry("fable", "http://127.0.0.1:9/v1", "fable", price=price), None, max_tokens=max_tokens, **more)


def calls(new=10, prompt_tokens=5000, stage="memories", by=None, **more):
    return Calls(stage, "validator", by or provider(), 0, new, prompt_tokens, **more)


def ledger_of(*attempts):
    """A ledger of attempts, each a model, a stage, a status, and tokens of prompt and completion."""
    ledger = Ledger()
    for number, (model, stage, status, prompt, completion) in enumerate(attempts):
        call = ledger.begin(Intent(str(number), model, stage, ""))
        ledger.end(call, Ending(status, usage=Usage(prompt=prompt, completion=completion)))
    return ledger


# How long answers are


def test_twenty_answers_in_the_ledger_tell_how_long_answers_are():
    attempts = [("fable", "memories", "ok", 100 + number, 10 * number) for number in range(21)]
    others = [("fable", "memories", "truncated", 9, 9999), ("fable", "leak_checks", "ok", 9, 9999)]

    usual = history_of(ledger_of(*attempts, *others)).of("fable", "memories")

    assert usual.is_measured_here
    assert usual.prompt == 110
    assert usual.completion == Spread(20, 100, 180)


@pytest.mark.parametrize(
    "attempts",
    [
        [("fable", "memories", "ok", 100, 10)] * 19,
        [("story", "memories", "ok", 100, 10)] * 20,
        [("fable", "leak_checks", "ok", 100, 10)] * 20,
        [("fable", "memories", "ok", None, None)] * 20,
        [("fable", "memories", "schema_error", 100, 10)] * 20,
    ],
)
def test_fewer_answers_and_those_of_others_tell_nothing(attempts):
    usual = history_of(ledger_of(*attempts)).of("fable", "memories")

    assert not usual.is_measured_here
    assert usual.completion == Spread(*FIGURES["memories"]["completion"])


# What they cost


def test_a_price_is_that_of_the_prompts_and_of_short_usual_and_longest_answers():
    history = history_of(ledger_of(*[("fable", "memories", "ok", 100, 50)] * 20))

    estimate = estimate_of(calls(new=10, prompt_tokens=5000), history)

    assert estimate.completion == Spread(500, 500, 500)
    # 5,000 tokens at 2 dollars a million, and 500 at 10; at the most 10 times 1,000.
    assert estimate.usd == Spread(0.010 + 0.005, 0.010 + 0.005, 0.010 + 0.100)


def test_in_a_batch_it_is_the_share_that_the_catalogue_tells():
    alone = estimate_of(calls(), NOBODY_KNOWS).usd
    batch = estimate_of(calls(by=provider(jobs=Jobs())), NOBODY_KNOWS).usd

    assert [part / 2 for part in (alone.low, alone.expected, alone.high)] == pytest.approx(
        [batch.low, batch.expected, batch.high]
    )


def test_what_may_be_asked_for_again_is_in_the_high_figures_alone():
    once, again = (estimate_of(calls(rounds=rounds), NOBODY_KNOWS) for rounds in (1, 4))

    assert (again.usd.low, again.usd.expected) == (once.usd.low, once.usd.expected)
    assert again.usd.high == pytest.approx(4 * once.usd.high)
    assert again.completion.high == 4 * once.completion.high


def test_an_answer_is_never_longer_than_the_model_can_write():
    entry = Entry("fable", "http://127.0.0.1:9/v1", "fable", price=PRICE, output_tokens=100)

    estimate = estimate_of(calls(new=10, prompt_tokens=0, by=Served(entry, None)), NOBODY_KNOWS)

    assert estimate.usd.high == 10 * 100 * 10 / 1_000_000


def test_without_a_price_there_are_tokens_alone():
    estimate = estimate_of(calls(by=provider(price=None)), NOBODY_KNOWS)

    assert estimate.usd is None
    assert estimate.completion.expected == 10 * FIGURES["memories"]["completion"][1]


def test_free_models_cost_nothing():
    assert estimate_of(calls(by=Offline()), NOBODY_KNOWS).usd == Spread(0, 0, 0)


def test_nothing_new_costs_nothing():
    assert estimate_of(calls(new=0, prompt_tokens=0), NOBODY_KNOWS).usd == Spread(0, 0, 0)


def test_a_total_adds_each_part():
    assert total_of([Spread(1, 2, 3), Spread(10, 20, 30)]) == Spread(11, 22, 33)
    assert total_of([]) == Spread(0, 0, 0)


# Whether the budget suffices


def verdict(most_usd, *, spent=0.0, held=0.0, estimates=None, sizes=KNOWN):
    """For calls of 0.015, 0.015 and 0.11 dollars, of which one may cost 0.02."""
    history = history_of(ledger_of(*[("fable", "memories", "ok", 100, 50)] * 20))
    usual = [estimate_of(calls(dearest_nano_usd=20_000_000), history)]
    return verdict_of(
        usual if estimates is None else estimates, Spending(round(spent * USD), round(held * USD)), most_usd, sizes
    )


def test_a_budget_suffices_if_it_has_room_for_the_high_price_and_one_call_more():
    assert verdict(0.1301) == " suffices"
    assert verdict(0.1299) == " suffices for what is expected, not for the high price"


def test_a_budget_that_has_no_room_for_what_is_expected_does_not_suffice():
    assert verdict(0.0351) == " suffices for what is expected, not for the high price"
    assert verdict(0.0349) == " does not suffice: what is expected needs 0.04 or more"


def test_what_was_spent_and_what_may_have_been_counts():
    assert verdict(1.1301, spent=0.6, held=0.4) == " suffices"
    assert verdict(1.0, spent=0.6, held=0.4).startswith(" does not suffice: what is expected needs 1.04")


def test_without_a_budget_nothing_stops_a_build():
    assert verdict(None) == ": nothing stops a build that costs more"


def test_a_budget_for_a_model_of_no_known_price_is_refused():
    unpriced = [estimate_of(calls(by=provider(price=None)), NOBODY_KNOWS)]

    assert verdict(5, estimates=unpriced) == " makes a build refuse fable: the catalogue has no price"
    assert verdict(5, estimates=[estimate_of(calls(new=0, by=provider(price=None)), NOBODY_KNOWS)]) == " suffices"


def test_nobody_says_that_a_budget_suffices_for_a_number_of_dialogues_that_nobody_knows():
    forecast = [estimate_of(calls(is_forecast=True), NOBODY_KNOWS)]

    told = verdict(1_000_000, estimates=forecast, sizes=Sizes(1000, 640, is_known=False))

    assert told == " suffices or not: nobody can tell before the dialogues are counted"


# As people read them


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (11_329_313, "11.3M"), (454_321, "454k"), (99_949, "99.9k"), (2e9, "2G")],
)
def test_tokens_are_told_in_five_characters(count, text):
    assert tokens(count) == text


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "$0.00"), (0.5, "$0.50"), (0.01234, "$0.0123"), (1.239, "$1.24"), (1234.5, "$1,234.50")]
)
def test_dollars_below_one_are_told_to_the_hundredth_of_a_cent(usd, text):
    assert dollars(usd) == text
