import json
import weakref

import pytest

from llm.errors import ModelError
from llm.gateway import Model, Reply, Request
from llm.keys import keys_of
from llm.ledger import Ending, Intent, Ledger


def numbered(input):
    """Answer with the number that the input holds."""
    return json.dumps({"number": input["number"]})


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_outcomes_stand_in_the_order_of_requests_however_long_each_takes(paid, prompt, count, concurrency):
    asked = [Request(f"s{number}", {"number": number, "ticks": (number * 7) % 11}) for number in range(600)]
    provider = paid(numbered, concurrency)
    outcomes = Model(provider).ask(prompt, asked, count)
    assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(600)]
    assert 1 <= provider.most_at_once <= concurrency


def test_no_requests_have_no_outcomes(paid, prompt, count):
    provider = paid(numbered)
    assert Model(provider).ask(prompt, [], count) == []
    assert provider.asked == []


def test_a_request_that_fails_leaves_the_others_alone(paid, prompt, count, requests):
    model = Model(paid(lambda input: "no idea" if input["number"] == 1 else numbered(input)))
    outcomes = model.ask(prompt, requests(3), count)
    assert [outcome.status for outcome in outcomes] == ["ok", "schema_error", "ok"]
    assert [outcome.answer is None for outcome in outcomes] == [False, True, False]


def test_an_answer_is_paid_for_once_and_survives_a_reopened_ledger(paid, prompt, count, requests, tmp_path, endings):
    first, second = paid(numbered), paid(numbered)
    for provider in (first, second):
        model = Model(provider, Ledger(tmp_path / "ledger.sqlite"))
        outcomes = model.ask(prompt, requests(600), count)
        assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(600)]
    assert (len(first.asked), second.asked, model.calls) == (600, [], 0)
    assert len(endings(Ledger(tmp_path / "ledger.sqlite"))) == 600


@pytest.mark.parametrize("status", ["truncated", "filtered", "http_error", "timeout", "rate_limited"])
def test_what_failed_is_asked_for_again_in_the_next_run(paid, prompt, count, requests, ledger, status):
    failing = paid(lambda input: Reply(status, numbered(input)) if input["number"] else numbered(input))
    Model(failing, ledger).ask(prompt, requests(3), count)
    better = paid(numbered)
    outcomes = Model(better, ledger).ask(prompt, requests(3), count)
    assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(3)]
    assert sorted(better.asked) == ["s1", "s2"]


def test_a_run_in_which_only_what_fails_for_good_is_left_ends_well(paid, prompt, count, requests, ledger):
    provider = paid(lambda input: numbered(input) if input["number"] % 10 else Reply("filtered"))
    for _ in range(2):
        outcomes = Model(provider, ledger).ask(prompt, requests(200), count)
        assert [outcome.status for outcome in outcomes].count("filtered") == 20


def test_free_answers_are_not_kept_and_asked_for_each_time(model_says, prompt, count, requests, endings):
    model = model_says({"number": 2})
    for _ in range(2):
        assert [outcome.answer for outcome in model.ask(prompt, requests(1), count)] == [count(number=2)]
    assert len(model.provider.requests) == 2
    assert endings(model.ledger) == [("s0", "ok")] * 2
    assert model.ledger.db.execute("select count(answer) from calls").fetchone() == (0,)


def test_a_known_answer_that_cannot_be_read_any_more_is_asked_for_anew(paid, prompt, count, requests, ledger):
    provider = paid(numbered)
    [request] = requests(1)
    key = keys_of(provider, prompt, count)(request)
    ledger.end(ledger.begin(Intent(key, "paid", "a_stage", "s0")), Ending("ok", answer="many"))
    for _ in range(2):
        [outcome] = Model(provider, ledger).ask(prompt, [request], count)
        assert outcome.answer == count(number=0)
    assert provider.asked == ["s0"]


@pytest.mark.parametrize("ticks", [0, 5])
@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_the_same_question_of_other_subjects_is_one_call(paid, prompt, count, ledger, concurrency, ticks):
    provider = paid(numbered, concurrency)
    asked = [Request(f"s{number}", {"number": number % 3, "ticks": ticks}) for number in range(700)]
    outcomes = Model(provider, ledger).ask(prompt, asked, count)
    assert [outcome.answer.number for outcome in outcomes] == [number % 3 for number in range(700)]
    assert len(provider.asked) == 3


def test_a_failure_of_a_question_that_is_asked_at_the_same_time_is_shared(paid, prompt, count, ledger):
    provider = paid(lambda input: Reply("filtered"), 8)
    asked = [Request(f"s{number}", {"number": 1, "ticks": 50}) for number in range(8)]
    assert [outcome.status for outcome in Model(provider, ledger).ask(prompt, asked, count)] == ["filtered"] * 8
    assert len(provider.asked) == 1


@pytest.mark.parametrize("known", [0, 3, 700])
def test_progress_is_told_upwards_and_ends_at_the_last(paid, prompt, count, requests, ledger, known):
    Model(paid(numbered), ledger).ask(prompt, requests(known), count)
    told = []
    Model(paid(numbered), ledger, lambda done, total: told.append((done, total))).ask(prompt, requests(700), count)
    assert {total for _, total in told} == {700}
    done = [done for done, _ in told]
    assert done == sorted(set(done))
    assert done[-1] == 700


def test_attempts_are_counted_and_known_answers_are_none(paid, in_turn, prompt, count, requests, ledger):
    model = Model(paid(in_turn(Reply("timeout"), "no form", '{"number": 1}'), 1), ledger)
    for _ in range(2):
        model.ask(prompt, requests(3), count)
    assert model.calls == 3 + 2


def test_a_provider_is_closed_after_each_round_even_one_that_failed(paid, prompt, count, requests):
    provider = paid(lambda input: Reply("http_error", stops="gone") if input["number"] == 5 else numbered(input))
    for rounds, total in enumerate((2, 9, 2), 1):
        try:
            Model(provider).ask(prompt, requests(total), count)
        except ModelError:
            assert total == 9
        assert provider.closed == rounds


def test_one_who_stops_listening_ends_what_is_under_way(paid, prompt, count, requests, ledger, rows_of):
    provider = paid(numbered, 8)
    asked = iter(range(1000))
    answers = Model(provider, ledger).each(
        prompt, asked, lambda number: Request(f"s{number}", {"number": number, "ticks": number}), count, 1000
    )
    taken = [next(answers) for _ in range(5)]
    answers.close()
    assert [(item, outcome.answer.number) for item, outcome in taken] == [(number, number) for number in range(5)]
    assert provider.closed == 1
    assert next(asked) <= 256, "the rest was never made"
    assert {status for (status,) in rows_of(ledger, "status")} <= {"ok", "cancelled"}


class Thing:
    """An item that can be watched."""

    def __init__(self, number):
        self.number = number


def test_of_many_lazily_made_items_only_a_few_are_in_memory(model_says, paid, prompt, count):
    total = 50_000
    alive, most, answered = weakref.WeakSet(), 0, 0

    def things():
        for number in range(total):
            thing = Thing(number)
            alive.add(thing)
            yield thing

    def request_of(thing):
        return Request(f"s{thing.number}", {"number": thing.number % 2000, "ticks": 2})

    provider = paid(numbered, 16)
    for thing, outcome in Model(provider).each(prompt, things(), request_of, count, total):
        assert outcome.answer.number == thing.number % 2000
        answered += 1
        most = max(most, len(alive))
    assert answered == total
    # Those looked up together, those under way, and one or two in hand.
    assert most <= 2 * 256 + 16 + 2


def test_the_identity_of_a_model_tells_how_answers_are_read(paid):
    identity = Model(paid(numbered, input_tokens=900)).identity
    assert (identity["model"], identity["input_tokens"]) == ("paid", 900)
    assert len(identity["reading"]) == 64
