import json

import pytest

from llm.catalogue import Entry
from llm.errors import ModelError
from llm.gateway import Model
from llm.pace import Patience
from llm.questions import Question, Repair, Request
from llm.served import Sampling, Served

KEY = "sk-0123456789abcdef"
OK = '{"number": 3}'
AT_ONCE = {"retry_after_ms": "1"}


@pytest.fixture
def ask(server, ledger, prompt, requests, count):
    """Ask the served model for one answer, or more."""

    def do(total=1, key=KEY, sampling=None, **entry):
        fable = Entry("fable", server.url, "fable-2", concurrency=1, **entry)
        served = Served(fable, key, sampling, patience=Patience(8, 0.0001, 0.001))
        return Model(served, ledger).ask(prompt, requests(total), count)

    return do


def test_a_good_answer_is_parsed_and_its_tokens_counted(server, answers, ask, ledger, count, rows_of):
    server.will(answers.says(OK))
    [outcome] = ask()
    assert (outcome.status, outcome.answer) == ("ok", count(number=3))
    assert rows_of(ledger, "model", "prompt_tokens", "completion_tokens") == [("fable", 11, 7)]


def test_the_call_is_what_the_protocol_asks_for(server, answers, ask):
    server.will(answers.says(OK))
    ask(sampling=Sampling(temperature=0, seed=7), limit_parameter="max_completion_tokens", refuses=("seed",))
    [(headers, body)] = server.calls
    assert headers["path"] == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body.pop("response_format")["type"] == "json_schema"
    assert body == {
        "model": "fable-2",
        "messages": [{"role": "system", "content": "Say how many."}, {"role": "user", "content": '{"number": 0}'}],
        "temperature": 0.0,
        "max_completion_tokens": 8192,
    }


@pytest.mark.parametrize("answers_as", ["json_schema", "json_object_schema", "json_object", "text"])
def test_thoughts_beside_an_answer_do_no_harm(server, answers, ask, count, answers_as):
    server.will(answers.says(OK, reasoning_content='{"number": 9}'))
    assert [outcome.answer for outcome in ask(answers=answers_as)] == [count(number=3)]


def test_a_lone_surrogate_beside_the_answer_is_kept_out_of_the_ledger(server, answers, ask, ledger, count, endings):
    server.will(answers.says(f"\ud83d here: {OK}"))
    for _ in range(2):
        assert [outcome.answer for outcome in ask()] == [count(number=3)]
    assert endings(ledger) == [("s0", "ok")]


@pytest.mark.parametrize(
    "failure",
    [(429, {"Retry_After": "0"}), (429, AT_ONCE), (429, {}), (500, {}), (503, AT_ONCE), (408, {}), None],
    ids=["429 in seconds", "429 in ms", "429 alone", "500", "503", "408", "cut"],
)
def test_what_passes_by_itself_is_waited_for(server, answers, ask, ledger, failure, rows_of):
    fault = answers.fails(failure[0], **failure[1]) if failure else answers.cut()
    server.will(fault, answers.says(OK))
    assert [outcome.status for outcome in ask()] == ["ok"]
    assert len(server.calls) == 2
    first, second = rows_of(ledger, "status")
    assert first[0] in ("rate_limited", "server_error", "timeout", "unreachable")
    assert second == ("ok",)


@pytest.mark.parametrize(
    ("failure", "status"),
    [((400,), "http_error"), ((400, "context_length_exceeded"), "too_long"), ((400, "content_filter"), "filtered")],
)
def test_a_request_that_is_refused_is_dropped_alone(server, answers, ask, ledger, endings, failure, status):
    server.will(answers.fails(*failure, **AT_ONCE), answers.says(OK))
    refused, answered = ask(2)
    assert (refused.status, refused.detail, answered.status) == (status, "400", "ok")
    assert endings(ledger) == [("s0", status), ("s1", "ok")]


@pytest.mark.parametrize(("code", "status"), [(429, "rate_limited"), (500, "server_error")])
def test_what_does_not_pass_is_dropped_alone_after_eight_attempts(server, answers, ask, ledger, endings, code, status):
    server.will(*[answers.fails(code, **AT_ONCE)] * 8, answers.says(OK))
    assert [outcome.status for outcome in ask(2)] == [status, "ok"]
    assert endings(ledger) == [("s0", status)] * 8 + [("s1", "ok")]


def test_a_server_that_refuses_one_text_of_many_has_flagged_it(server, answers, ask):
    server.will(answers.says(OK), answers.fails(403), answers.says(OK))
    assert [one.status for one in ask(3)] == ["ok", "filtered", "ok"]


def test_a_server_that_refuses_from_the_beginning_stops_the_run(server, answers, ask):
    server.will(answers.fails(403))
    with pytest.raises(ModelError, match=r"access is refused \(403\)$"):
        ask()


def test_a_server_that_says_in_words_that_the_input_is_too_long_is_understood(server, answers, ask):
    error = {"error": {"message": "This model's maximum context length is 8 tokens", "code": "invalid_request_error"}}
    server.will((400, {}, json.dumps(error)))
    assert [one.status for one in ask()] == ["too_long"]


@pytest.mark.parametrize("failure", [(401,), (402,), (404,), (429, "insufficient_quota")])
def test_an_account_that_cannot_be_used_stops_all_at_once(server, answers, ask, ledger, failure, endings):
    server.will(answers.says(OK), answers.fails(*failure))
    with pytest.raises(ModelError, match=rf"^fable at {server.url}: .* \({failure[0]}\)$"):
        ask(50)
    assert len(server.calls) <= 3
    assert endings(ledger)[:2] == [("s0", "ok"), ("s1", "http_error")]


def test_an_address_that_wants_no_calls_for_hours_stops_the_run(server, answers, ask):
    server.will(answers.fails(429, Retry_After="7200"))
    with pytest.raises(ModelError, match=r"^the address wants no calls for 7,200 s \(rate_limited\)$"):
        ask(50)
    assert len(server.calls) == 1


def test_one_model_can_be_asked_again_after_a_round(server, answers, ledger, prompt, requests, count):
    server.will(answers.says(OK))
    model = Model(Served(Entry("fable", server.url, "fable-2"), KEY), ledger)
    for text in "ab":
        assert [outcome.status for outcome in model.ask(prompt, requests(5, text=text), count)] == ["ok"] * 5
    assert len(server.calls) == 10


def test_the_key_is_kept_nowhere(server, answers, ask, tmp_path):
    server.will(answers.says(OK), answers.fails(401))
    with pytest.raises(ModelError) as error:
        ask(2)
    assert KEY not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_the_address_the_key_and_the_concurrency_are_no_part_of_the_identity():
    one = Served(Entry("fable", "http://here", "fable-2", "FABLE_KEY"), KEY)
    other = Served(Entry("fable", "https://elsewhere.example", "fable-2", concurrency=1), None, max_tokens=5)
    assert one.identity == other.identity
    assert one.identity != Served(Entry("fable", "http://here", "fable-3"), KEY).identity
    assert one.identity != Served(Entry("fable", "http://here", "fable-2"), KEY, Sampling(temperature=0)).identity
    assert "FABLE_KEY" not in str(one.identity)


@pytest.mark.parametrize(
    ("context", "output", "first", "room"),
    [
        (None, None, 100, None),
        (10_000, 1000, 100, 9600),
        (10_000, 300, 100, 9700),
        (10_000, None, 5000, 5000),
        (1000, 100_000, 8192, 500),
    ],
)
def test_the_room_for_input_is_what_the_larger_limit_leaves_and_at_least_half(context, output, first, room):
    entry = Entry("fable", "http://a", "fable-2", context_tokens=context, output_tokens=output)
    assert Model(Served(entry, None, max_tokens=first)).input_tokens == room


def test_whether_there_is_a_key_is_told():
    entry = Entry("fable", "http://a", "fable-2")
    assert [Served(entry, key).has_key for key in (KEY, None, "", "\n")] == [True, False, False, False]


@pytest.mark.parametrize("repair", [None, Repair("猫" * 4000, "number: missing")])
@pytest.mark.parametrize("is_larger", [False, True])
@pytest.mark.parametrize("way", ["json_schema", "json_object"])
def test_what_is_held_is_what_a_byte_a_token_and_the_whole_limit_would_cost(
    price, prompt, count, repair, is_larger, way
):
    served = Served(Entry("fable", "http://a", "f", answers=way, price=price(2.0, 8.0)), None, max_tokens=1000)
    question = Question(prompt, Request("s", {"text": "我住在上海 " * 1000}), count, is_larger, repair)
    texts = [message["content"] for message in served.body(question)["messages"]]
    sent = sum(len(text.encode()) for text in texts)
    least = sent * 2000 + (4000 if is_larger else 1000) * 8000
    assert least <= served.most_nano_usd(question) <= 1.2 * least + 2000 * 2000


def test_what_has_no_price_holds_nothing(prompt, requests, count):
    served = Served(Entry("fable", "http://a", "f"), None)
    assert served.most_nano_usd(Question(prompt, requests(1)[0], count)) == 0
