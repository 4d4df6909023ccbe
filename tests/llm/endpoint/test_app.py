import json
import socket

import httpx
import openai
import pytest
from openai import OpenAI

TOKEN = "token-of-the-gateway"
MESSAGES = [{"role": "user", "content": "a private matter"}]


HEADERS = [None, "", "Bearer", "Bearer wrong", "token-of-the-gateway", "Basic token-of-the-gateway", "Bearer é"]


@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings", "/models"])
@pytest.mark.parametrize("header", HEADERS)
def test_without_the_token_nothing_is_answered(standing, path, header):
    headers = {} if header is None else {"Authorization": header.encode()}
    method = "GET" if path == "/models" else "POST"
    answer = httpx.request(method, standing.url + path, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_wrong_token_is_told_as_openai_clients_know_it(standing):
    with OpenAI(base_url=standing.url, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_health_is_told_to_everybody(standing):
    answer = httpx.get(standing.url.removesuffix("/v1") + "/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_the_models_are_those_of_the_catalogue(standing):
    assert [model.id for model in standing.client.models.list()] == ["chatty", "vectors"]


def test_an_unknown_model_is_told_with_the_known_ones(standing):
    with pytest.raises(openai.NotFoundError, match="chatty") as error:
        standing.say(model="gpt-nonesuch")
    assert error.value.code == "model_not_found"
    assert "gpt-nonesuch" not in str(error.value)


def test_a_model_of_another_kind_is_unknown(standing):
    with pytest.raises(openai.NotFoundError):
        standing.say(model="vectors")
    with pytest.raises(openai.NotFoundError):
        standing.client.embeddings.create(model="chatty", input="x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"no json",
        b"[]",
        b"null",
        b'"text"',
        b"5",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": "\\ud83d"}',
        b"[" * 5000,
    ],
)
def test_a_body_that_is_no_json_object_is_refused(standing, content):
    for path in ("/chat/completions", "/embeddings"):
        answer = standing.http.post(path, content=content)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "text"}, "messages"),
        ({"messages": ["a private matter"]}, "messages.0"),
        ({"messages": [{"role": "user", "content": ["a private matter"]}]}, "messages.0.content"),
        ({"messages": [*MESSAGES, {"role": "user", "content": [{"type": "image_url"}]}]}, "messages.1.content"),
        ({"n": 0}, "n"),
        ({"n": "2"}, "n"),
        ({"n": True}, "n"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"service_tier": "priority"}, "service_tier"),
        ({"web_search_options": {}}, "web_search_options"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request_is_said_without_repeating_it(standing, wrong, param):
    answer = standing.post(**{"model": "chatty", "messages": MESSAGES, **wrong})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert "private" not in answer.text
    assert standing.rows() == []


def test_a_body_above_the_limit_is_refused_and_one_at_the_limit_is_read(standing):
    frame = len(json.dumps({"model": "x", "fill": ""}))
    for more, code in ((0, "model_not_found"), (1, "body_too_large")):
        content = json.dumps({"model": "x", "fill": "a" * (32 * 1024 * 1024 - frame + more)})
        answer = standing.http.post("/chat/completions", content=content)
        assert answer.json()["error"]["code"] == code


def test_other_addresses_and_methods_are_told_as_errors_of_the_protocol(standing):
    assert standing.http.get("/chat/completions").json()["error"]["code"] == "not_found"
    assert standing.http.post("/completions").json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("429_ms", 429, "rate_limit_exceeded"),
        ("500", 502, "upstream_error"),
        ("cut_body", 502, "upstream_unreachable"),
        ("error_object", 502, "upstream_error"),
        ("html", 502, "upstream_error"),
        ("empty_object", 502, "upstream_error"),
        ("no_choices", 502, "upstream_error"),
        ("null_message", 502, "upstream_error"),
        ("400_context_length", 400, "context_length_exceeded"),
        ("400_content_filter", 400, "content_filter"),
        ("400", 400, "upstream_error"),
        ("422", 422, "upstream_error"),
        ("401", 502, "upstream_refused"),
        ("402", 502, "upstream_refused"),
        ("403", 502, "upstream_refused"),
        ("404", 502, "upstream_refused"),
        ("429_quota", 502, "upstream_refused"),
    ],
)
def test_a_failure_behind_the_gateway_is_told_as_one(gateway, loopback, kind, status, code):
    loopback.plan(script={"*": kind}, retry_after_seconds=0.001)
    with pytest.raises(openai.APIStatusError) as error:
        gateway.say("a private matter")
    assert (error.value.status_code, error.value.code) == (status, code)
    assert "private" not in str(error.value)
    assert "sk-upstream" not in str(error.value)


def test_a_time_out_behind_the_gateway_is_told_as_one(serve, loopback):
    gateway = serve(loopback.url, timeout_seconds=0.2)
    loopback.plan(script={"*": "never"})
    with pytest.raises(openai.APIStatusError) as error:
        gateway.say()
    assert (error.value.status_code, error.value.code) == (504, "upstream_timeout")
    assert [row[-1] for row in gateway.rows()] == ["timeout"] * 3


def test_that_the_key_of_the_gateway_is_refused_is_said_of_that_key(gateway, loopback):
    loopback.plan(script={"*": "401"})
    with pytest.raises(openai.InternalServerError, match="the upstream refuses the gateway, not you: chatty at .*401"):
        gateway.say()


def test_a_server_that_wants_to_be_left_alone_for_hours_is_told_as_a_rate_limit(gateway, loopback):
    loopback.plan(script={"*": "429_seconds"}, retry_after_seconds=7200)
    with pytest.raises(openai.RateLimitError, match="7,200 s"):
        gateway.say()


def test_nobody_behind_the_gateway_is_told_with_the_address(serve):
    gateway = serve("http://127.0.0.1:9/v1")
    with pytest.raises(
        openai.InternalServerError, match=r"upstream: chatty cannot be reached at http://127.0.0.1:9/v1"
    ):
        gateway.say()


def test_what_the_gateway_tried_again_is_not_tried_again_by_a_client(gateway, loopback):
    loopback.plan(script={"*": "500"})
    gateway.client = gateway.client.with_options(max_retries=5)
    with pytest.raises(openai.InternalServerError):
        gateway.say()
    assert loopback.totals()["attempts"] == 3, "the gateway's own patience"


@pytest.mark.parametrize(
    ("key", "code"), [(None, "upstream_key_missing"), ("", "upstream_key_missing"), ("sk-…", "upstream_key_unusable")]
)
def test_a_key_that_is_not_there_is_named_by_its_variable_and_never_shown(serve, loopback, key, code):
    answer = serve(loopback.url, key=key).post(model="chatty", messages=MESSAGES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, code)
    assert "sk-" not in answer.text
    assert loopback.totals()["attempts"] == 0


def test_what_fails_within_is_told_by_its_kind_alone(gateway, caplog):
    gateway.ledger.db.execute("drop table calls")
    answer = gateway.post(model="chatty", messages=MESSAGES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "OperationalError" in answer.text
    assert "OperationalError in" in caplog.text
    assert "private" not in caplog.text + answer.text
    assert "Traceback" not in caplog.text


def test_a_client_that_leaves_in_the_middle_of_a_body_does_no_harm(standing, caplog):
    host, port = standing.url.removeprefix("http://").removesuffix("/v1").split(":")
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 999\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head.encode() + b'{"model": "a private')
    assert httpx.get(f"http://{host}:{port}/health").status_code == 200
    assert caplog.text == ""
