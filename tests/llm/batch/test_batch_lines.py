"""The lines of batch jobs, as servers write them and as they should not."""

import json

import pytest

from llm.attempts import Reply, Usage
from llm.batch_lines import MISSING, line_of, reply_in
from llm.catalogue import Entry

ENTRY = Entry("fable", "http://127.0.0.1:9/v1", "fable-2")
USAGE = {"prompt_tokens": 11, "completion_tokens": 7}


def completion(content, finish_reason="stop"):
    return {"choices": [{"message": {"content": content}, "finish_reason": finish_reason}], "usage": USAGE}


def answered(body, status_code=200):
    return {"custom_id": "k", "response": {"status_code": status_code, "body": body}, "error": None}


def refused(status_code, code=None):
    return answered({"error": {"message": "SERVER TEXT", "code": code}}, status_code)


def test_a_line_says_what_is_called_and_by_what_its_answer_is_found():
    body = {"model": "fable-2", "messages": [{"role": "user", "content": "\u2028 naïve 🙂"}]}
    line = line_of("key", body)
    assert b"\n" not in line
    assert json.loads(line) == {"custom_id": "key", "method": "POST", "url": "/v1/chat/completions", "body": body}


def test_an_answer_comes_with_what_it_used():
    assert reply_in(answered(completion("yes")), ENTRY) == Reply("ok", "yes", usage=Usage(11, None, 7, None))


@pytest.mark.parametrize(
    ("line", "status", "detail"),
    [
        (answered(completion("ye", "length")), "truncated", None),
        (answered({}), "empty", "no completion"),
        (answered("a page"), "empty", "no completion"),
        (answered(None), "empty", "no completion"),
        (answered({"error": {"message": "overloaded"}}), "server_error", "200"),
        (refused(429, "rate_limit_exceeded"), "rate_limited", "429"),
        (refused(503), "server_error", "503"),
        (refused(408), "timeout", "408"),
        (refused(400, "context_length_exceeded"), "too_long", "400"),
        (refused(400, "content_filter"), "filtered", "400"),
        (refused(400), "http_error", "400"),
        (answered("a page", 502), "server_error", "502"),
        (answered({"error": "a text"}, 500), "server_error", "500"),
        (answered({}, None), "server_error", "500"),
        ({"response": None, "error": {"code": "batch_expired", "message": "x"}}, "server_error", "batch_expired"),
        ({"response": "x", "error": {}}, "server_error", "None"),
    ],
)
def test_what_came_of_a_call_has_the_same_name_as_in_a_live_one(line, status, detail):
    reply = reply_in({"custom_id": "k", **line}, ENTRY)
    assert (reply.status, reply.detail, reply.stops) == (status, detail, None)


@pytest.mark.parametrize("line", [{}, {"response": None, "error": None}, {"response": [], "error": "x"}])
def test_of_a_line_that_says_nothing_nobody_can_tell_what_was_done(line):
    assert reply_in(line, ENTRY) == MISSING


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (refused(401), "the key is not accepted (401)"),
        (refused(402), "the account has no balance (402)"),
        (refused(429, "insufficient_quota"), "the account has no balance (429)"),
    ],
)
def test_a_refusal_that_goes_for_all_calls_says_why(line, reason):
    reply = reply_in(line, ENTRY)
    assert (reply.status, reply.stops) == ("http_error", f"fable at http://127.0.0.1:9/v1: {reason}")
