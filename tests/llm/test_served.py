import socket
from email.utils import formatdate

import pytest
from pydantic import BaseModel

from llm.catalogue import Entry
from llm.errors import ModelError
from llm.gateway import Model
from llm.ledger import Ledger
from llm.served import Served

KEY = "sk-0123456789abcdef"
OK = '{"number": 3}'
AT_ONCE = {"retry_after_ms": "1"}


class Inner(BaseModel):
    name: str
    note: str | None = None


class Outer(BaseModel):
    items: list[Inner]
    first: Inner | None
    count: int = 0


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def ask(server, ledger, prompt, requests, count):
    """Ask the served model for one answer, or more, of the form `count`."""

    def do(total=1, key=KEY, url=server.url, form=count, **more):
        served = Served(Entry("fable", url, "fable-2"), key, concurrency=1)
        return Model(served, ledger).ask(prompt, requests(total, **more), form)

    return do


def statuses(ledger):
    return ledger.table()["status"].to_pylist()


def test_a_good_answer_is_parsed_and_its_tokens_counted(server, answers, ask, ledger, count):
    server.will(answers.says(OK))
    [outcome] = ask()
    assert (outcome.status, outcome.answer) == ("ok", count(number=3))
    [row] = ledger.table().to_pylist()
    assert (row["prompt_tokens"], row["completion_tokens"], row["model"]) == (11, 7, "fable")


def test_the_call_is_what_the_protocol_asks_for(server, answers, ask):
    server.will(answers.says(OK))
    ask(text="猫 & {braces}")
    [(headers, body)] = server.calls
    assert headers["path"] == "/v1/chat/completions"
    assert body["model"] == "fable-2"
    assert body["messages"] == [
        {"role": "system", "content": "Say how many."},
        {"role": "user", "content": '{"number": 0, "text": "猫 & {braces}"}'},
    ]


def objects_of(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_of(part)


def test_the_schema_is_strict_at_every_depth(server, answers, ask):
    server.will(answers.says('{"items": [], "first": null, "count": 0}'))
    ask(form=Outer)
    [(_, body)] = server.calls
    sent = body["response_format"]
    assert (sent["type"], sent["json_schema"]["strict"], sent["json_schema"]["name"]) == ("json_schema", True, "Outer")
    objects = list(objects_of(sent["json_schema"]["schema"]))
    assert {frozenset(one["properties"]) for one in objects} == {
        frozenset(("items", "first", "count")),
        frozenset(("name", "note")),
    }
    for one in objects:
        assert one["additionalProperties"] is False
        assert sorted(one["required"]) == sorted(one["properties"])


@pytest.mark.parametrize(("content", "finish"), [(OK, "length"), ('{"num', "length"), ("", "length")])
def test_a_cut_answer_is_truncated_even_where_it_looks_whole(server, answers, ask, ledger, content, finish):
    server.will(answers.says(content, finish))
    [outcome] = ask()
    assert (outcome.status, outcome.answer) == ("truncated", None)
    assert statuses(ledger) == ["truncated"], "the same call would be cut again"


@pytest.mark.parametrize("content", [OK, "", None])
def test_a_filtered_answer_is_no_answer_and_not_asked_for_again(server, answers, ask, ledger, content):
    server.will(answers.says(content, "content_filter"), answers.says(OK))
    assert [outcome.status for outcome in ask(2)] == ["filtered", "ok"]
    assert statuses(ledger) == ["filtered", "ok"]


@pytest.mark.parametrize("content", [OK, None])
def test_a_refusal_is_no_answer(server, answers, ask, ledger, content):
    server.will(answers.says(content, refusal="I would rather not."))
    assert [outcome.status for outcome in ask()] == ["refused"]
    assert statuses(ledger) == ["refused"]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"content": ""}, "empty"),
        ({"content": None}, "empty"),
        ({"content": " \n\t "}, "empty"),
        ({"content": None, "reasoning_content": OK}, "reasoning_only"),
        ({"content": "", "reasoning_content": OK}, "reasoning_only"),
        ({"content": "I count three."}, "schema_error"),
        ({"content": '{"number": "many"}'}, "schema_error"),
    ],
)
def test_what_may_pass_is_asked_for_once_more(server, answers, ask, ledger, message, status):
    server.will(answers.says(**message), answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert statuses(ledger) == [status, "ok"]
    server.will(answers.says(**message))
    [outcome] = ask(text="another")
    assert (outcome.status, outcome.answer) == (status, None)
    assert statuses(ledger)[2:] == [status, status]


def test_reasoning_beside_an_answer_does_no_harm(server, answers, ask, count):
    server.will(answers.says(OK, reasoning_content='{"number": 9}'))
    assert [outcome.answer for outcome in ask()] == [count(number=3)]


@pytest.mark.parametrize(
    "body",
    [
        ("<html>Welcome</html>", "text/html"),
        ("{}",),
        ('{"choices": null}',),
        ('{"choices": []}',),
        ('{"choices": [{"index": 0, "finish_reason": "stop", "message": null}]}',),
        ('{"error": {"message": "overloaded"}}',),
        ("[]",),
        ("null",),
        ('{"choices": [{"index"',),
    ],
)
def test_a_body_without_a_completion_is_empty(server, answers, ask, body):
    server.will(answers.raw(*body))
    assert [outcome.status for outcome in ask()] == ["empty"]


def test_a_lone_surrogate_beside_the_answer_is_kept_out_of_the_ledger(server, answers, ask, ledger, count):
    server.will(answers.says(f"\ud83d here: {OK}"))
    for _ in range(2):
        assert [outcome.answer for outcome in ask()] == [count(number=3)]
    assert statuses(ledger) == ["ok"]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ((401,), "the key is not accepted (401)"),
        ((402,), "the account has no balance (402)"),
        ((403,), "access is refused (403)"),
        ((404,), "the address or the model is not known there (404)"),
    ],
)
def test_an_account_that_cannot_be_used_stops_all_at_once(server, answers, ask, ledger, failure, reason):
    server.will(answers.says(OK), answers.fails(*failure))
    with pytest.raises(ModelError) as error:
        ask(50)
    assert str(error.value) == f"fable at {server.url}: {reason}"
    assert len(server.calls) == 2
    assert statuses(ledger) == ["ok"]


def test_an_empty_account_that_is_told_as_a_rate_limit_stops_too(server, answers, ask):
    server.will(answers.fails(429, code="insufficient_quota", **AT_ONCE))
    with pytest.raises(ModelError, match="the account has no balance"):
        ask(50)
    assert len(server.calls) <= 5


@pytest.mark.parametrize(
    "failure",
    [
        (429, {"Retry_After": "0"}),
        (429, {"Retry_After": formatdate(usegmt=True)}),
        (429, {}),
        (500, {}),
        (503, AT_ONCE),
        None,
    ],
    ids=["429 in seconds", "429 as a date", "429 alone", "500", "503", "cut"],
)
def test_what_passes_by_itself_is_waited_for(server, answers, ask, ledger, failure):
    fault = answers.fails(failure[0], **failure[1]) if failure else answers.cut()
    server.will(fault, answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert len(server.calls) == 2
    assert statuses(ledger) == ["ok"]


def test_a_request_that_is_refused_is_dropped_alone(server, answers, ask, ledger):
    server.will(answers.fails(400, **AT_ONCE), answers.says(OK))
    refused, answered = ask(2)
    assert (refused.status, refused.detail, answered.status) == ("http_error", "400", "ok")
    assert statuses(ledger) == ["http_error", "ok"]


@pytest.mark.parametrize(("code", "status"), [(429, "rate_limited"), (500, "server_error")])
def test_what_does_not_pass_stops_the_run_and_keeps_the_other_answers(server, answers, ask, ledger, code, status):
    server.will(*[answers.fails(code, **AT_ONCE)] * 5, answers.says(OK))
    with pytest.raises(ModelError, match=f"1 {status} of 2 calls"):
        ask(2)
    assert statuses(ledger) == [status, "ok"]


@pytest.fixture
def dead_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_nobody_listening_is_told_in_one_line_with_model_and_address(ask, ledger, dead_address):
    with pytest.raises(ModelError) as error:
        ask(50, url=dead_address)
    text = str(error.value)
    assert text.startswith(f"fable cannot be reached at {dead_address}: ")
    assert "\n" not in text
    assert "Traceback" not in text
    assert KEY not in text
    assert error.value.__suppress_context__
    assert statuses(ledger) == []


def test_the_key_is_sent_as_a_bearer_and_kept_nowhere(server, answers, ask, tmp_path):
    server.will(answers.says(OK), answers.fails(401))
    with pytest.raises(ModelError) as error:
        ask(2, key=f" {KEY}\n")
    assert [headers["authorization"] for headers, _ in server.calls] == [f"Bearer {KEY}"] * 2
    assert KEY not in str(error.value)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-…", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(ask, key):
    with pytest.raises(ModelError, match=r"^the key of fable holds characters that no key has; copy it again$"):
        ask(key=key)


def test_a_server_that_wants_no_key_gets_none_of_ours(server, answers, ask):
    server.will(answers.says(OK))
    ask(key=None)
    assert server.calls[0][0]["authorization"] == "Bearer none"


def test_one_model_can_be_asked_again_after_a_round(server, answers, ledger, prompt, requests, count):
    server.will(answers.says(OK))
    model = Model(Served(Entry("fable", server.url, "fable-2"), KEY), ledger)
    for text in "ab":
        assert [outcome.status for outcome in model.ask(prompt, requests(5, text=text), count)] == ["ok"] * 5
    assert len(server.calls) == 10


def test_the_address_the_key_and_the_concurrency_are_no_part_of_the_identity(server):
    one = Served(Entry("fable", server.url, "fable-2", "FABLE_KEY"), KEY)
    other = Served(Entry("fable", "https://elsewhere.example", "fable-2"), None, concurrency=1)
    assert one.identity == other.identity
    assert one.identity != Served(Entry("fable", server.url, "fable-3"), KEY).identity
