import asyncio
import json
import time
from email.utils import parsedate_to_datetime

import httpx
import openai
import pytest
from loopback_http import Answer, Connection
from loopback_kinds import GROUPS, KINDS
from pydantic import BaseModel, ConfigDict, ValidationError

pytestmark = pytest.mark.slow
RIGHT = '{"number":7}'


class Count(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)
    number: int


@pytest.fixture
def meets(loopback, ask):
    """Ask once under a plan in which everybody meets this kind."""

    def ask_once(kind, plan=(), **more):
        loopback.plan(script={"*": kind}, slow_seconds=0.1, **dict(plan))
        return ask(7, **more)

    return ask_once


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        ("429", openai.RateLimitError, "rate_limit_exceeded"),
        ("429_quota", openai.RateLimitError, "insufficient_quota"),
        ("500", openai.InternalServerError, None),
        ("502", openai.InternalServerError, None),
        ("503", openai.InternalServerError, None),
        ("529", openai.InternalServerError, None),
        ("408", openai.APIStatusError, None),
        ("409", openai.ConflictError, None),
        ("401", openai.AuthenticationError, "invalid_api_key"),
        ("402", openai.APIStatusError, None),
        ("403", openai.PermissionDeniedError, None),
        ("404", openai.NotFoundError, "model_not_found"),
        ("400_context_length", openai.BadRequestError, "context_length_exceeded"),
        ("400_content_filter", openai.BadRequestError, "content_filter"),
    ],
)
def test_a_status_is_the_error_that_the_client_knows(loopback, client, body, kind, error, code):
    loopback.plan(script={"*": kind})
    with pytest.raises(error) as raised:
        client.chat.completions.create(**body(7))
    assert raised.value.status_code == int(kind[:3])
    assert raised.value.code == code
    assert not {"retry-after", "retry-after-ms"} & set(raised.value.response.headers)
    assert loopback.totals()["charged"]["attempts"] == loopback.totals()["charged_unseen"]["attempts"] == 0


def test_the_time_to_come_again_is_told_in_four_ways(meets):
    wait = {"retry_after_seconds": 2}
    assert meets("429_seconds", wait).headers["retry-after"] == "2"
    assert meets("503_seconds", wait).headers["retry-after"] == "2"
    assert meets("429_ms", wait).headers["retry-after-ms"] == "2000"
    before = time.time()
    told = parsedate_to_datetime(meets("429_date", wait).headers["retry-after"]).timestamp()
    assert before + 2 <= told <= time.time() + 3


@pytest.mark.parametrize("kind", ["cut_before", "reset", "cut_headers", "cut_body"])
def test_a_cut_connection_is_an_error_of_the_connection_and_charged_unseen(loopback, meets, kind):
    with pytest.raises(httpx.ReadError if kind == "reset" else httpx.RemoteProtocolError):
        meets(kind)
    [attempt] = loopback.seen()["identities"]["7"]
    assert (attempt["kind"], attempt["charged"], attempt["seen"], attempt["written"]) == (kind, True, False, False)
    totals = loopback.totals()
    assert totals["charged_unseen"]["completion_tokens"] == 5 + 3
    assert totals["charged"]["attempts"] == 0


def test_a_call_that_is_never_answered_ends_with_the_patience_of_the_client(loopback, raw, body):
    loopback.plan(script={"*": "never"})
    with pytest.raises(httpx.ReadTimeout):
        raw.post("chat/completions", json=body(7), timeout=0.1)
    raw.close()
    assert _ended(loopback)["charged_unseen"]["attempts"] == 1


def test_a_client_that_leaves_before_the_answer_is_charged_unseen(loopback, raw, body):
    loopback.plan(latency_ms=60_000)
    with pytest.raises(httpx.ReadTimeout):
        raw.post("chat/completions", json=body(7), timeout=0.1)
    assert _ended(loopback)["charged_unseen"] == {
        **{"attempts": 1, "prompt_tokens": 5, "cached_tokens": 1, "completion_tokens": 8, "reasoning_tokens": 5}
    }


def _ended(loopback):
    """Give the totals once the server has noticed that the client is gone."""
    until = time.monotonic() + 5
    while (totals := loopback.totals())["in_flight"] and time.monotonic() < until:
        time.sleep(0.01)
    return totals


@pytest.mark.parametrize("kind", ["slow", "slow_body"])
def test_a_slow_answer_is_whole_in_the_end(loopback, meets, kind):
    started = time.monotonic()
    assert meets(kind).json()["choices"][0]["message"]["content"] == RIGHT
    assert time.monotonic() - started >= 0.1
    assert loopback.totals()["charged"]["attempts"] == 1


class Wire(asyncio.Transport):
    """The far end of a connection: keeps each piece that is written."""

    def __init__(self):
        self.pieces = []

    def set_write_buffer_limits(self, high=None, low=None):
        assert high == 0

    def write(self, data):
        self.pieces.append(bytes(data))


def test_a_slow_body_is_written_byte_by_byte_and_the_next_request_waits_for_its_end():
    async def talk():
        ended: list[bool] = []
        second = asyncio.Event()
        answers = [
            Answer(200, b"slow", wire="drip", drip_seconds=0.004, ended=ended.append),
            Answer(200, b"next", ended=lambda written: second.set()),
        ]
        connection, wire = Connection(lambda request: answers.pop(0)), Wire()
        connection.connection_made(wire)
        connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(second.wait(), 5)
        return ended, wire.pieces

    ended, (head, *slow, after) = asyncio.run(talk())
    assert ended == [True]
    assert head.endswith(b"Content-Length: 4\r\n\r\n")
    assert slow == [b"s", b"l", b"o", b"w"]
    assert after.endswith(b"\r\n\r\nnext")


@pytest.mark.parametrize("kind", GROUPS["bodies"])
def test_a_body_that_is_no_completion_has_no_message(meets, kind):
    response = meets(kind)
    assert response.status_code == 200
    shown = {
        "html": lambda: response.headers["content-type"] == "text/html" and response.text.startswith("<html>"),
        "not_json": lambda: pytest.raises(json.JSONDecodeError, response.json),
        "empty_body": lambda: response.content == b"",
        "empty_object": lambda: response.json() == {},
        "empty_list": lambda: response.json() == [],
        "no_choices": lambda: response.json()["choices"] == [] and response.json()["usage"],
        "null_message": lambda: response.json()["choices"][0]["message"] is None,
        "error_object": lambda: response.json()["error"]["message"] and "choices" not in response.json(),
    }
    assert shown[kind]()


CONTENTS = {
    **{"content_empty": ("", "stop"), "content_null": (None, "stop"), "content_blank": (" \n\t ", "stop")},
    **{"reasoning_only": (None, "stop"), "refusal": (None, "stop")},
    **{"length_cut": ('{"numb', "length"), "length_complete": (RIGHT, "length"), "length_cured": ('{"numb', "length")},
    **{"filter_text": ('{"numb', "content_filter"), "filter_empty": ("", "content_filter")},
    **{"filter_null": (None, "content_filter"), "cut": ('{"numb', "stop")},
    **{"two_values": (RIGHT + "\n" + RIGHT, "stop"), "missing_field": ("{}", "stop")},
    **{"wrong_type": ('{"number":{"wrong":"type"}}', "stop"), "nan": ('{"number":NaN}', "stop")},
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_bad_answer_has_the_content_and_the_reason_that_its_name_says(loopback, meets, kind):
    choice = meets(kind).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == CONTENTS[kind]
    assert choice["message"].get("reasoning_content") == (RIGHT if kind == "reasoning_only" else None)
    assert bool(choice["message"]["refusal"]) == (kind == "refusal")
    assert loopback.totals()["charged"]["attempts"] == 1
    if kind not in ("length_complete", "content_null", "reasoning_only", "refusal", "filter_null"):
        with pytest.raises(ValidationError):
            Count.model_validate_json(choice["message"]["content"])


def test_prose_and_fences_stand_around_the_right_answer(meets):
    content = meets("prose_json").json()["choices"][0]["message"]["content"]
    before, right, after = content.partition(RIGHT)
    assert right
    assert "{" in before
    assert "{" in after
    assert meets("fenced").json()["choices"][0]["message"]["content"] == f"```json\n{RIGHT}\n```"
    prose = meets("prose").json()["choices"][0]["message"]["content"]
    assert "number" not in prose
    assert "{" in prose


def test_a_larger_limit_cures_an_answer_that_is_cut(meets):
    for name in ("max_tokens", "max_completion_tokens"):
        choices = [meets("length_cured", **{name: most}).json()["choices"][0] for most in (1000, 1001)]
        assert [choice["finish_reason"] for choice in choices] == ["length", "stop"]


def test_a_script_is_followed_in_order_and_begins_anew_with_a_plan_or_a_reset(loopback, ask):
    loopback.plan(script={"1": ["500", "ok", "404"], "2": "409"})
    assert [ask(1).status_code for _ in range(5)] == [500, 200, 404, 200, 200]
    assert [ask(2).status_code for _ in range(5)] == [409] * 5
    assert ask(3).status_code == 200
    loopback.plan(script={"1": ["500", "ok", "404"]})
    assert [ask(1).status_code for _ in range(2)] == [500, 200]
    loopback.reset()
    assert [ask(1).status_code for _ in range(2)] == [500, 200]


def test_every_kind_can_be_drawn_and_none_brings_the_server_down(loopback, raw, body):
    loopback.plan(fault_share=1, kinds=list(GROUPS), slow_seconds=0, max_faults_per_subject=1)
    for number in range(400):
        try:
            raw.post("chat/completions", json=body(number), timeout=httpx.Timeout(5, read=0.02))
        except httpx.TransportError:
            continue
    assert set(loopback.totals()["kinds"]) == KINDS
