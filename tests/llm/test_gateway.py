import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from llm.catalogue import Entry
from llm.errors import ModelError
from llm.gateway import Model, Prompt, Reply, Request, key_of
from llm.ledger import Attempt, Ledger
from llm.served import Served


def numbered(input):
    """Answer with the number that the input holds."""
    return json.dumps({"number": input["number"]})


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def rows(ledger):
    return [(row["subject"], row["status"]) for row in ledger.table().to_pylist()]


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_outcomes_stand_in_the_order_of_requests_however_long_each_takes(paid, prompt, count, concurrency):
    asked = [Request(f"s{number}", {"number": number, "ticks": (number * 7) % 11}) for number in range(30)]
    outcomes = Model(paid(numbered, concurrency)).ask(prompt, asked, count)
    assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(30)]


def test_no_requests_have_no_outcomes(paid, prompt, count):
    provider = paid(numbered)
    assert Model(provider).ask(prompt, [], count) == []
    assert provider.asked == []


def test_a_request_that_fails_leaves_the_others_alone(paid, prompt, count, requests):
    model = Model(paid(lambda input: "no idea" if input["number"] == 1 else numbered(input)))
    outcomes = model.ask(prompt, requests(3), count)
    assert [outcome.status for outcome in outcomes] == ["ok", "schema_error", "ok"]
    assert [outcome.answer is None for outcome in outcomes] == [False, True, False]


@pytest.mark.parametrize(
    ("reply", "status", "times"),
    [
        (Reply("ok", '{"number": 1}'), "ok", 1),
        (Reply("ok", ""), "empty", 2),
        (Reply("ok", " \n"), "empty", 2),
        (Reply("ok", "One."), "schema_error", 2),
        (Reply("ok", '{"number": 1} {"number": 1}'), "schema_error", 2),
        (Reply("empty"), "empty", 2),
        (Reply("reasoning_only"), "reasoning_only", 2),
        (Reply("truncated", '{"number": 1}'), "truncated", 1),
        (Reply("filtered", '{"number": 1}'), "filtered", 1),
        (Reply("refused"), "refused", 1),
        (Reply("http_error", detail="400"), "http_error", 1),
        (Reply("not_recorded"), "not_recorded", 1),
    ],
)
def test_each_attempt_is_a_row_and_only_what_may_pass_is_tried_twice(
    paid, prompt, count, requests, ledger, reply, status, times
):
    model = Model(paid(lambda input: reply), ledger)
    [outcome] = model.ask(prompt, requests(1), count)
    assert outcome.status == status
    assert (outcome.answer is not None) == (status == "ok")
    assert rows(ledger) == [("s0", status)] * times
    assert model.calls == times


def test_an_answer_is_paid_for_once_and_survives_a_reopened_ledger(paid, prompt, count, requests, tmp_path):
    first, second = paid(numbered), paid(numbered)
    for provider in (first, second):
        model = Model(provider, Ledger(tmp_path / "ledger.sqlite"))
        outcomes = model.ask(prompt, requests(5), count)
        assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(5)]
    assert (len(first.asked), second.asked, model.calls) == (5, [], 0)
    assert len(rows(Ledger(tmp_path / "ledger.sqlite"))) == 5


@pytest.mark.parametrize("status", ["truncated", "filtered", "http_error"])
def test_what_failed_is_asked_for_again_in_the_next_run(paid, prompt, count, requests, ledger, status):
    Model(paid(lambda input: Reply(status, numbered(input))), ledger).ask(prompt, requests(3), count)
    better = paid(numbered)
    outcomes = Model(better, ledger).ask(prompt, requests(3), count)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 3
    assert sorted(better.asked) == ["s0", "s1", "s2"]


@pytest.mark.parametrize("status", ["rate_limited", "timeout", "server_error"])
def test_what_may_be_answered_tomorrow_is_no_drop_but_stops_the_run(paid, prompt, count, requests, ledger, status):
    busy = paid(lambda input: Reply(status) if input["number"] == 1 else Reply("ok", numbered(input)))
    with pytest.raises(ModelError, match=f"paid: 1 {status} of 3 calls; run it again"):
        Model(busy, ledger).ask(prompt, requests(3), count)

    better = paid(numbered)
    outcomes = Model(better, ledger).ask(prompt, requests(3), count)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 3
    assert better.asked == ["s1"]


def test_free_answers_are_not_kept_and_asked_for_each_time(model_says, prompt, count, requests):
    model = model_says({"number": 2})
    for _ in range(2):
        assert [outcome.answer for outcome in model.ask(prompt, requests(1), count)] == [count(number=2)]
    assert len(model.provider.requests) == 2
    assert len(rows(model.ledger)) == 2


def test_a_free_model_is_not_asked_twice_in_one_run(model_says, prompt, count, requests):
    model = model_says("One.")
    assert [outcome.status for outcome in model.ask(prompt, requests(1), count)] == ["schema_error"]
    assert model.calls == 1


def test_a_known_answer_that_cannot_be_read_any_more_is_asked_for_anew(paid, prompt, count, requests, ledger):
    provider = paid(numbered)
    [request] = requests(1)
    key = key_of(provider, prompt, request, count)
    ledger.add(Attempt(key, "paid", "a_stage", "s0", "ok", "many", None, None, 0.1))
    for _ in range(2):
        [outcome] = Model(provider, ledger).ask(prompt, [request], count)
        assert outcome.answer == count(number=0)
    assert provider.asked == ["s0"]


def test_the_same_question_of_another_subject_is_the_same_call(paid, prompt, count, ledger):
    provider = paid(numbered, concurrency=1)
    asked = [Request(subject, {"number": 1}) for subject in ("one", "other")]
    assert [outcome.status for outcome in Model(provider, ledger).ask(prompt, asked, count)] == ["ok", "ok"]
    assert provider.asked == ["one"]


def test_progress_counts_each_request_up_to_the_last(paid, prompt, count, requests, ledger):
    told = []
    model = Model(paid(numbered), ledger, progress=lambda done, total: told.append((done, total)))
    for _ in range(2):
        model.ask(prompt, requests(7), count)
        assert told == [(done, 7) for done in range(1, 8)]
        told.clear()


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_model_that_cannot_be_used_stops_the_run_and_what_came_before_stays(
    paid, prompt, count, requests, tmp_path, concurrency
):
    def breaks(input):
        if input["number"] >= 20:
            raise ModelError("the account has no balance")
        return numbered(input)

    broken = paid(breaks, concurrency)
    with pytest.raises(ModelError, match=r"^the account has no balance$"):
        Model(broken, Ledger(tmp_path / "ledger.sqlite")).ask(prompt, requests(1000), count)
    assert len(broken.asked) <= 20 + concurrency
    assert broken.closed == 1
    kept = rows(Ledger(tmp_path / "ledger.sqlite"))
    assert sorted(kept) == sorted((f"s{number}", "ok") for number in range(20))
    healed = paid(numbered, concurrency)
    outcomes = Model(healed, Ledger(tmp_path / "ledger.sqlite")).ask(prompt, requests(30), count)
    assert [outcome.answer for outcome in outcomes] == [count(number=number) for number in range(30)]
    assert sorted(healed.asked) == sorted(f"s{number}" for number in range(20, 30))


def test_a_provider_is_closed_after_each_round(paid, prompt, count, requests):
    provider = paid(numbered)
    for rounds in (1, 2):
        Model(provider).ask(prompt, requests(2), count)
        assert provider.closed == rounds


def test_seconds_are_those_of_the_attempt(paid, prompt, count, requests, ledger):
    def slow(input):
        time.sleep(0.05)
        return numbered(input)

    Model(paid(slow), ledger).ask(prompt, requests(1), count)
    [row] = ledger.table().to_pylist()
    assert 0.05 <= row["seconds"] < 5


def test_the_identity_of_a_model_tells_how_answers_are_read(paid):
    identity = Model(paid(numbered)).identity
    assert identity["model"] == "paid"
    assert len(identity["reading"]) == 64


FORMS = [create_model("Count", a=(int, ...)), create_model("Count", a=(str, ...)), create_model("Count", b=(int, ...))]
WORDS = st.sampled_from(["", "a", "b", "猫", "\ud83d"])
VALUES = st.none() | WORDS | st.integers(0, 2)
INPUTS = st.dictionaries(WORDS, VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(WORDS, VALUES, max_size=2))
CALLS = st.tuples(WORDS, WORDS, WORDS, st.sampled_from(FORMS), INPUTS)


def key(call, **more):
    name, served_as, text, form, input = call
    served = Served(Entry(name, more.get("url", "http://one"), served_as), more.get("key"), more.get("concurrency", 16))
    request = Request(more.get("subject", "s"), dict(reversed(input.items())) if more else input)
    return key_of(served, Prompt("a_stage", text), request, form)


@given(CALLS, CALLS)
def test_a_key_is_the_same_if_and_only_if_model_prompt_form_and_input_are(one, other):
    assert (key(one) == key(other)) == (one == other)


@given(CALLS, st.data())
def test_one_thing_changed_changes_the_key(call, data):
    place = data.draw(st.integers(0, 4))
    other = list(call)
    other[place] = data.draw(CALLS.map(lambda drawn: drawn[place]).filter(lambda part: part != call[place]))
    assert key(call) != key(other)


@given(CALLS, st.text(max_size=5), st.integers(1, 99))
def test_address_key_concurrency_subject_and_the_order_of_fields_do_not_change_the_key(call, text, number):
    more = {"url": f"http://{number}", "key": "sk-other", "concurrency": number, "subject": text}
    assert key(call, **more) == key(call)


def test_a_form_with_other_words_for_its_fields_is_another_form():
    class Verdict(BaseModel):
        """One sentence that a model reads."""

        number: int

    class Other(BaseModel):
        """Another sentence that a model reads."""

        number: int

    Other.__name__ = Other.__qualname__ = "Verdict"
    assert key(("m", "m", "", Verdict, {})) != key(("m", "m", "", Other, {}))
