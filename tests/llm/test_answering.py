"""What is asked after a bad answer, over a server: with the error shown, with a larger limit, or as before."""

import json

import pytest

from llm.catalogue import Entry
from llm.gateway import Model
from llm.pace import Patience
from llm.served import Served

OK = '{"number": 3}'


@pytest.fixture
def ask(server, ledger, prompt, requests, count):
    """Ask the served model for so many answers, with such a limit of tokens."""

    def do(total=1, max_tokens=100, output_tokens=None):
        entry = Entry("fable", server.url, "fable-2", concurrency=1, output_tokens=output_tokens)
        served = Served(entry, None, max_tokens=max_tokens, patience=Patience(8, 0.0001, 0.001))
        return Model(served, ledger).ask(prompt, requests(total), count)

    return do


@pytest.fixture
def sent(server):
    """Give what the server was sent: bodies of calls."""
    return lambda: [body for _, body in server.calls]


@pytest.mark.parametrize("bad", ["I count three.", '{"number": "many"}', '{"number": 3', OK + OK, "[]"])
def test_after_an_answer_of_another_form_the_model_is_shown_it_and_asked_once_more(server, answers, ask, sent, bad):
    server.will(answers.says(bad), answers.says(OK))
    [outcome] = ask()
    assert outcome.answer.number == 3
    first, second = sent()
    assert second["messages"][:2] == first["messages"]
    shown, told = second["messages"][2:]
    assert shown == {"role": "assistant", "content": bad}
    assert told["role"] == "user"
    assert {name: first[name] for name in first if name != "messages"} == {
        name: second[name] for name in second if name != "messages"
    }


def test_the_error_that_the_model_is_shown_names_the_place(server, answers, ask, sent):
    server.will(answers.says('{"number": "many"}'), answers.says(OK))
    ask()
    assert "number: int_parsing" in sent()[1]["messages"][3]["content"]


def test_a_second_answer_of_another_form_is_the_end(server, answers, ask, ledger, endings):
    server.will(answers.says("no"), answers.says('{"number": "many"}'), answers.says(OK))
    [outcome] = ask()
    assert (outcome.status, outcome.detail) == ("schema_error", "number: int_parsing")
    assert endings(ledger) == [("s0", "schema_error")] * 2


def test_a_repair_does_not_make_the_prompt_grow_with_the_bad_answer(server, answers, ask, sent):
    server.will(answers.says("blah " * 100_000), answers.says(OK))
    ask()
    first, second = (len(json.dumps(body)) for body in sent())
    assert second - first < 4000 + 400


def test_a_cut_answer_is_asked_for_once_with_four_times_the_limit(server, answers, ask, sent, ledger, endings):
    server.will(answers.says('{"num', "length"), answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    first, second = sent()
    assert (first.pop("max_tokens"), second.pop("max_tokens")) == (100, 400)
    assert first == second, "nothing is said of the cut answer"
    assert endings(ledger) == [("s0", "truncated"), ("s0", "ok")]


@pytest.mark.parametrize("content", [OK, '{"num', ""])
def test_an_answer_that_is_cut_again_is_truncated_even_where_it_looks_whole(
    server, answers, ask, ledger, content, endings
):
    server.will(answers.says(content, "length"))
    [outcome] = ask()
    assert (outcome.status, outcome.answer) == ("truncated", None)
    assert endings(ledger) == [("s0", "truncated")] * 2


def test_no_limit_is_larger_than_the_models_own(server, answers, ask, sent):
    server.will(answers.says("", "length"))
    ask(max_tokens=100, output_tokens=150)
    ask(max_tokens=200, output_tokens=150)
    assert [body["max_tokens"] for body in sent()] == [100, 150, 150]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"content": ""}, "empty"),
        ({"content": None}, "empty"),
        ({"content": " \n\t "}, "empty"),
        ({"content": None, "reasoning_content": OK}, "reasoning_only"),
        ({"content": "", "reasoning": OK}, "reasoning_only"),
    ],
)
def test_an_answer_that_is_not_there_is_asked_for_twice_more(
    server, answers, ask, sent, ledger, endings, message, status
):
    server.will(answers.says(**message), answers.says(**message), answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert sent()[0] == sent()[1] == sent()[2]
    assert [one for _, one in endings(ledger)] == [status, status, "ok"]


def test_an_answer_that_is_never_there_ends_after_three_attempts(server, answers, ask, ledger, endings):
    server.will(answers.says(""))
    assert [outcome.status for outcome in ask()] == ["empty"]
    assert endings(ledger) == [("s0", "empty")] * 3


@pytest.mark.parametrize(
    "body",
    [
        ("<html>Welcome</html>", "text/html"),
        ("{}",),
        ('{"choices": [{"index": 0, "finish_reason": "stop", "message": null}]}',),
        ("[]",),
        ('{"choices": [{"index"',),
    ],
)
def test_a_body_without_a_completion_is_no_answer_and_asked_for_again(server, answers, ask, ledger, endings, body):
    server.will(answers.raw(*body), answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert endings(ledger) == [("s0", "empty"), ("s0", "ok")]


@pytest.mark.parametrize("content", [OK, "", None])
def test_a_filtered_answer_is_no_answer_and_not_asked_for_again(server, answers, ask, ledger, endings, content):
    server.will(answers.says(content, "content_filter"), answers.says(OK))
    assert [outcome.status for outcome in ask(2)] == ["filtered", "ok"]
    assert endings(ledger) == [("s0", "filtered"), ("s1", "ok")]


@pytest.mark.parametrize("content", [OK, None])
def test_a_refusal_is_no_answer_and_not_asked_for_again(server, answers, ask, ledger, endings, content):
    server.will(answers.says(content, refusal="I would rather not."))
    assert [outcome.status for outcome in ask()] == ["refused"]
    assert endings(ledger) == [("s0", "refused")]


def test_each_kind_of_bad_answer_has_its_own_patience(server, answers, ask, ledger, endings):
    server.will(
        answers.says("no"),
        answers.says("", "length"),
        answers.fails(500),
        answers.says(""),
        answers.says(None, reasoning_content="hm"),
        answers.says(OK),
    )
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert [one for _, one in endings(ledger)] == [
        *("schema_error", "truncated", "server_error", "empty", "reasoning_only", "ok")
    ]


def test_the_answer_to_a_repaired_question_is_known_as_that_to_the_question(server, answers, ask):
    server.will(answers.says("no"), answers.says(OK))
    ask()
    [outcome] = ask()
    assert outcome.answer.number == 3
    assert len(server.calls) == 2
