import asyncio
import json
import logging
import socket
from email.utils import formatdate

import pytest

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.errors import ModelError
from llm.wire import Wire, error_in

KEY = "sk-0123456789abcdef"


@pytest.fixture
def post(server):
    """Send one body after another over one connection, and give what came back for each."""

    def do(times=1, url=None, key=KEY, seconds=30, body=None):
        async def run():
            wire = Wire(Entry("fable", url or server.url, "fable-2", timeout_seconds=seconds), key)
            try:
                return [await wire.post("/chat/completions", body or {"model": "fable-2"}) for _ in range(times)]
            finally:
                await wire.close()

        return asyncio.run(run())

    return do


def test_a_json_object_comes_back_as_the_server_sent_it(server, answers, post):
    server.will(answers.raw('{"choices": [], "more": {"a": "猫"}}'))
    assert post() == [{"choices": [], "more": {"a": "猫"}}]
    [(headers, body)] = server.calls
    assert (headers["path"], body) == ("/v1/chat/completions", {"model": "fable-2"})


def test_a_json_object_is_one_whatever_the_server_calls_it(server, answers, post):
    server.will(answers.raw('{"choices": []}', "text/plain"))
    assert post() == [{"choices": []}]


def test_what_the_environment_says_of_another_account_is_not_sent(server, answers, post, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    server.will(answers.raw('{"choices": []}'))
    post()
    [(headers, _)] = server.calls
    assert not [value for value in headers.values() if "secret" in value]


def test_what_was_never_sent_is_told_apart(server, answers):
    async def run():
        wire = Wire(Entry("fable", "http://127.0.0.1:9/v1", "fable-2"), KEY)
        wire.has_answered = True
        try:
            return await wire.post("/chat/completions", {})
        finally:
            await wire.close()

    assert asyncio.run(run()) == Reply("unreachable", detail="ConnectError", is_sent=False)


@pytest.mark.parametrize(
    ("status", "code", "named"),
    [
        (400, None, "http_error"),
        (400, "context_length_exceeded", "too_long"),
        (400, "string_above_max_length", "too_long"),
        (400, "content_filter", "filtered"),
        (400, "content_policy_violation", "filtered"),
        (405, None, "http_error"),
        (408, None, "timeout"),
        (409, None, "server_error"),
        (413, None, "http_error"),
        (422, None, "http_error"),
        (425, None, "server_error"),
        (429, None, "rate_limited"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (500, None, "server_error"),
        (502, None, "server_error"),
        (503, None, "server_error"),
        (504, None, "server_error"),
        (529, "overloaded", "server_error"),
    ],
)
def test_each_failure_has_a_name_and_is_sent_once(server, answers, post, status, code, named):
    server.will(answers.fails(status, code))
    assert post() == [Reply(named, detail=str(status))]
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (401, "invalid_api_key", "the key is not accepted (401)"),
        (402, None, "the account has no balance (402)"),
        (403, None, "access is refused (403)"),
        (404, "model_not_found", "the address or the model is not known there (404)"),
        (429, "insufficient_quota", "the account has no balance (429)"),
    ],
)
def test_what_fails_for_every_call_says_why_nothing_can_go_on(server, answers, post, status, code, reason):
    server.will(answers.fails(status, code))
    [reply] = post()
    assert (reply.status, reply.stops) == ("http_error", f"fable at {server.url}: {reason}")


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry_After": "7"}, 7, 7),
        ({"retry_after_ms": "1500"}, 1.5, 1.5),
        ({"Retry_After": formatdate(4_000_000_000, usegmt=True)}, 10**9, 4 * 10**9),
        ({"Retry_After": formatdate(1_000_000_000, usegmt=True)}, 0, 0),
    ],
)
def test_when_to_come_again_is_taken_from_the_headers(server, answers, post, status, headers, least, most):
    server.will(answers.fails(status, **headers))
    [reply] = post()
    assert least <= reply.retry_after <= most


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "soon"}])
def test_a_server_that_does_not_say_when_to_come_again_says_none(server, answers, post, headers):
    server.will(answers.fails(429, **headers))
    assert post() == [Reply("rate_limited", detail="429")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<html>Welcome</html>", "text/html"),
        ("<html>Welcome</html>", "application/json"),
        ("", "application/json"),
        ("[]", "application/json"),
        ("null", "application/json"),
        ('"text"', "application/json"),
        ("7", "application/json"),
        ('{"choices": [{"index"', "application/json"),
        ("[" * 100_000, "application/json"),
        ("\udcff".encode("utf-8", "surrogatepass").decode("latin-1"), "text/plain"),
    ],
)
def test_a_body_that_is_no_json_object_is_empty(server, answers, post, text, kind):
    server.will(answers.raw(text, kind))
    assert post() == [Reply("empty", detail="no completion")]


def stopped(number):
    return Reply("http_error", detail=str(number), stops="no more")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"message": "overloaded"}, "server_error"),
        ({"code": None}, "server_error"),
        ("overloaded", "server_error"),
        ({"code": 429}, "rate_limited"),
        ({"code": "rate_limit_exceeded"}, "rate_limited"),
        ({"code": "context_length_exceeded"}, "too_long"),
        ({"code": "content_filter"}, "filtered"),
    ],
)
def test_an_error_that_comes_as_a_good_answer_is_an_error(error, status):
    assert error_in({"error": error}, stopped) == Reply(status, detail="200")


@pytest.mark.parametrize("error", [None, {}, "", []])
def test_an_answer_that_says_it_has_no_error_has_none(error):
    assert error_in({"error": error, "choices": []}, stopped) is None
    assert error_in({"choices": []}, stopped) is None


@pytest.mark.parametrize("code", [401, 402, "403"])
def test_an_account_that_is_refused_in_a_good_answer_is_refused_all_the_same(code):
    assert error_in({"error": {"code": code}}, stopped) == stopped(int(code))


@pytest.mark.parametrize("kind", ["never", "slow", "slow_body"])
def test_a_server_that_takes_too_long_is_timed_out_even_where_it_goes_on_and_on(loopback, post, kind):
    loopback.plan(script={"*": kind}, slow_seconds=20)
    body = {"model": "x", "messages": [{"role": "user", "content": '{"number": 1}'}]}
    assert post(2, loopback.url, seconds=0.3, body=body) == [Reply("timeout")] * 2
    assert loopback.totals()["attempts"] == 2


@pytest.mark.parametrize("kind", ["cut_before", "reset", "cut_headers", "cut_body"])
def test_a_connection_that_is_cut_is_unreachable_and_the_next_one_is_a_new_one(loopback, post, kind):
    loopback.plan(script={"*": [kind, "ok"]})
    body = {"model": "x", "messages": [{"role": "user", "content": '{"number": 1}'}]}
    cut, good = post(2, loopback.url, body=body)
    assert (cut.status, cut.stops) == ("unreachable", None)
    assert good["choices"][0]["message"]["content"] == '{"number":1}'


@pytest.fixture
def dead_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_an_address_at_which_nobody_ever_answered_cannot_be_used(dead_address, post):
    [reply] = post(url=dead_address)
    assert reply.status == "unreachable"
    assert reply.stops.startswith(f"fable cannot be reached at {dead_address}: ")
    assert "\n" not in reply.stops


def test_a_server_that_goes_away_while_it_is_used_may_come_back(server, answers, dead_address):
    server.will(answers.raw("{}"))

    async def run():
        wire = Wire(Entry("fable", server.url, "fable-2"), None)
        first = await wire.post("/chat/completions", {})
        await wire.close()
        wire.entry = Entry("fable", dead_address, "fable-2")
        second = await wire.post("/chat/completions", {})
        await wire.close()
        return first, second

    first, second = asyncio.run(run())
    assert first == {}
    assert (second.status, second.stops) == ("unreachable", None)


def test_a_wire_serves_one_event_loop_after_another(server, answers):
    server.will(answers.raw("{}"))
    wire = Wire(Entry("fable", server.url, "fable-2"), None)

    async def run():
        found = await wire.post("/chat/completions", {})
        await wire.close()
        return found

    assert [asyncio.run(run()) for _ in range(2)] == [{}, {}]


def test_the_key_is_sent_as_a_bearer_and_told_to_nobody(server, answers, post, caplog):
    caplog.set_level(logging.DEBUG)
    server.will(answers.fails(401))
    replies = post(key=f" {KEY}\n")
    assert server.calls[0][0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(replies)
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_a_server_that_wants_no_key_gets_none_of_ours(server, answers, post, key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-account")
    server.will(answers.raw("{}"))
    post(key=key)
    assert server.calls[0][0]["authorization"] == "Bearer none"


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-…", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key):
    with pytest.raises(ModelError, match=r"^the key of fable holds characters that no key has; copy it again$"):
        Wire(Entry("fable", "http://a", "fable-2"), key)


def test_what_a_server_says_in_an_error_is_told_to_nobody(server, answers, post, caplog):
    caplog.set_level(logging.DEBUG)
    for status in (400, 401, 429, 500):
        server.will(answers.fails(status))
        assert "SERVER TEXT" not in str(post())
    assert "SERVER TEXT" not in caplog.text


@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens",
        "the request exceeds the available context size",
        "Prompt is too long: 5000 tokens",
        "input is too large",
    ],
)
def test_a_server_without_a_code_for_it_says_in_words_that_an_input_is_too_long(server, post, status, message):
    server.will((status, {}, json.dumps({"error": {"message": message, "type": "invalid_request_error"}})))
    assert post() == [Reply("too_long", detail=str(status))]


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "application/octet-stream"])
def test_a_server_that_does_not_say_that_it_sends_json_is_read_all_the_same(server, answers, post, kind):
    server.will(answers.raw('{"choices": []}', kind))
    assert post() == [{"choices": []}]
