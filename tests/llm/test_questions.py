import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.attempts import Reply
from llm.meter import Terms
from llm.questions import Outcome, Question, next_question, outcome_of

PAID = Terms(is_paid=True, has_larger_limit=True)


@pytest.fixture
def asked(prompt, requests, count):
    return Question(prompt, requests(1)[0], count)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("ok", '{"number": 3}'), "ok"),
        (Reply("ok", ""), "empty"),
        (Reply("ok", " \n\t"), "empty"),
        (Reply("ok", "three"), "schema_error"),
        (Reply("ok", '{"number": 3'), "schema_error"),
        (Reply("truncated", '{"number": 3}'), "truncated"),
        (Reply("filtered", '{"number": 3}'), "filtered"),
        (Reply("refused", '{"number": 3}'), "refused"),
        (Reply("reasoning_only"), "reasoning_only"),
        (Reply("rate_limited", '{"number": 3}'), "rate_limited"),
    ],
)
def test_only_an_ok_reply_of_the_right_form_is_an_answer(count, reply, status):
    outcome = outcome_of(reply, count)
    assert outcome.status == status
    assert outcome.answer == (count(number=3) if status == "ok" else None)


def test_after_an_answer_of_another_form_the_model_is_shown_it_and_its_error(asked):
    reply = Reply("ok", '{"number": "many"}')
    again = next_question(asked, reply, outcome_of(reply, asked.form), PAID)
    assert (again.repair.answer, again.repair.error) == ('{"number": "many"}', "number: int_parsing")
    assert (again.request, again.prompt, again.is_larger) == (asked.request, asked.prompt, False)


@given(st.text(max_size=100), st.integers(1, 2000))
def test_what_is_shown_of_a_bad_answer_does_not_grow_with_it(text, times):
    again = next_question(
        Question(None, None, None), Reply("ok", text * times), Outcome("schema_error", detail="x"), PAID
    )
    assert len(again.repair.answer) <= 4000
    assert (text * times).startswith(again.repair.answer)


def test_a_second_bad_answer_takes_the_place_of_the_first(asked):
    one = next_question(asked, Reply("ok", "one"), Outcome("schema_error", detail="first"), PAID)
    two = next_question(one, Reply("ok", "two"), Outcome("schema_error", detail="second"), PAID)
    assert (two.repair.answer, two.repair.error) == ("two", "second")


def test_a_cut_answer_is_asked_for_with_a_larger_limit_and_only_once(asked):
    cut = Reply("truncated", '{"num')
    again = next_question(asked, cut, Outcome("truncated"), PAID)
    assert (again.is_larger, again.repair) == (True, None)
    assert next_question(again, cut, Outcome("truncated"), PAID) is None


def test_a_cut_answer_of_a_model_that_has_no_larger_limit_is_not_asked_for_again(asked):
    assert next_question(asked, Reply("truncated"), Outcome("truncated"), Terms(is_paid=True)) is None


@pytest.mark.parametrize("status", ["empty", "reasoning_only"])
def test_an_answer_that_is_not_there_is_asked_for_as_before(asked, status):
    assert next_question(asked, Reply(status), Outcome(status), PAID) == asked


@pytest.mark.parametrize("status", ["ok", "filtered", "refused", "too_long", "http_error", "not_recorded", "timeout"])
def test_what_would_end_the_same_way_is_not_asked_again(asked, status):
    assert next_question(asked, Reply(status), Outcome(status), PAID) is None


@pytest.mark.parametrize("status", ["schema_error", "truncated", "empty", "reasoning_only"])
def test_what_costs_nothing_answers_the_same_each_time_and_is_not_asked_again(asked, status):
    assert next_question(asked, Reply(status), Outcome(status), Terms(has_larger_limit=True)) is None


def test_what_is_told_of_a_bad_answer_holds_nothing_of_it(count):
    outcome = outcome_of(Reply("ok", json.dumps({"number": "SECRET", "SECRET": 1})), count)
    assert outcome.status == "schema_error"
    assert "SECRET" not in outcome.detail
