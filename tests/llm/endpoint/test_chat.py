import asyncio
import json
import threading

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from llm.catalogue import Entry
from llm.endpoint.chat import reply_of

TOOL = {
    "type": "function",
    "function": {
        "name": "remember",
        "parameters": {
            "type": "object",
            "properties": {"fact": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["fact", "times"],
        },
    },
}


class Fact(BaseModel):
    fact: str
    times: int


def test_a_completion_comes_back_whole_under_the_name_in_the_catalogue(gateway):
    answer = gateway.say('{"number": 3}')
    assert answer.model == "chatty"
    assert answer.choices[0].message.content == '{"number":3}'
    assert (answer.choices[0].finish_reason, answer.usage.prompt_tokens, answer.usage.completion_tokens) == (
        "stop",
        3,
        8,
    )


def test_what_was_answered_is_not_asked_again_and_is_the_same_to_the_last_character(gateway, loopback):
    body = {"model": "chatty", "messages": [{"role": "user", "content": "hello"}]}
    first, again = gateway.post(**body), gateway.post(**body)
    assert [one.headers["x-alpsbench-cache"] for one in (first, again)] == ["miss", "hit"]
    assert first.content == again.content
    assert loopback.totals()["attempts"] == 1


def test_what_changes_no_answer_is_no_other_question_and_all_else_is(gateway, loopback):
    gateway.say("hello", max_tokens=20)
    gateway.say("hello", max_completion_tokens=20, user="ann", metadata={"run": "2"}, stream=False)
    assert loopback.totals()["attempts"] == 1
    for more in ({"max_tokens": 21}, {"max_tokens": 20, "seed": 1}, {"max_tokens": 20, "temperature": 0.5}):
        gateway.say("hello", **more)
    gateway.say("hello ", max_tokens=20)
    assert loopback.totals()["attempts"] == 5


def test_the_body_is_passed_on_but_for_what_the_catalogue_knows_better(serve, server, answers):
    server.will(answers.says("fine"))
    gateway = serve(server.url, limit_parameter="max_completion_tokens", refuses=("temperature", "seed"))
    more = {"tools": [TOOL], "tool_choice": "auto", "stop": ["x"], "response_format": {"type": "json_object"}}
    gateway.say("猫 & {braces}", max_tokens=7, temperature=0.1, seed=4, **more, extra_body={"top_k": 3})
    [(headers, body)] = server.calls
    message = {"role": "user", "content": "猫 & {braces}"}
    assert body == {"model": "served-chat", "messages": [message], "max_completion_tokens": 7, "top_k": 3, **more}
    assert headers["authorization"] == "Bearer sk-upstream-0123456789"
    assert headers["path"] == "/v1/chat/completions"


def test_tools_are_called(gateway, loopback):
    call = {"tools": [TOOL], "tool_choice": "required"}
    [first], [again] = (gateway.say("note it", **call).choices[0].message.tool_calls for _ in range(2))
    assert (first.function.name, json.loads(first.function.arguments)) == ("remember", {"fact": "x", "times": 1})
    assert first == again
    assert loopback.totals()["attempts"] == 1


def test_a_json_object_and_a_schema_are_answered(gateway):
    answer = gateway.say('{"number": 5}', response_format={"type": "json_object"})
    assert json.loads(answer.choices[0].message.content) == {"number": 5}
    messages = [{"role": "user", "content": "what do you know?"}]
    parsed = gateway.client.chat.completions.parse(model="chatty", messages=messages, response_format=Fact)
    assert parsed.choices[0].message.parsed == Fact(fact="x", times=1)


@pytest.mark.parametrize("more", [{}, {"tools": [TOOL], "tool_choice": "required"}], ids=["text", "tools"])
def test_a_stream_tells_what_the_whole_answer_is(gateway, loopback, more):
    whole = gateway.say("hello", **more)
    with gateway.client.chat.completions.stream(
        model="chatty",
        messages=[{"role": "user", "content": "hello"}],
        stream_options={"include_usage": True},
        **more,
    ) as stream:
        told = stream.get_final_completion()
    assert told.choices[0].message.content == whole.choices[0].message.content
    assert told.choices[0].finish_reason == whole.choices[0].finish_reason
    calls = [[call.function.arguments for call in one.choices[0].message.tool_calls or ()] for one in (told, whole)]
    assert calls[0] == calls[1]
    assert told.usage == whole.usage
    assert loopback.totals()["attempts"] == 1


def test_a_stream_without_a_wish_for_usage_ends_with_the_finish_reason(gateway):
    chunks = list(gateway.say("hello", stream=True))
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, "stop"]
    assert [chunk.usage for chunk in chunks] == [None, None]


def choices(*ends):
    return [
        {"index": place, "finish_reason": end, "message": {"role": "assistant", "content": f"answer {place}"}}
        for place, end in enumerate(ends)
    ]


def completion(*ends):
    usage = {"prompt_tokens": 11, "completion_tokens": 21, "total_tokens": 32}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices(*ends),
        "usage": usage,
    }


def test_several_answers_come_back_and_are_known_only_where_all_are_whole(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.raw(json.dumps(completion("stop", "length", "stop"))))
    for _ in range(2):
        cut = gateway.say("three", n=3)
        assert [choice.message.content for choice in cut.choices] == ["answer 0", "answer 1", "answer 2"]
    assert len(server.calls) == 2
    server.will(answers.raw(json.dumps(completion("stop", "stop", "stop"))))
    for _ in range(2):
        assert len(gateway.say("three", n=3).choices) == 3
    chunks = list(gateway.say("three", n=3, stream=True))
    said = {
        chunk.choices[0].index: chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content
    }
    assert said == {0: "answer 0", 1: "answer 1", 2: "answer 2"}
    assert len(server.calls) == 1
    assert [row[-1] for row in gateway.rows()] == ["truncated", "truncated", "ok"]


@pytest.mark.parametrize(
    ("kind", "status", "finish_reason"),
    [
        ("length_complete", "truncated", "length"),
        ("filter_text", "filtered", "content_filter"),
        ("filter_null", "filtered", "content_filter"),
        ("refusal", "refused", "stop"),
        ("content_empty", "empty", "stop"),
        ("content_null", "empty", "stop"),
        ("reasoning_only", "reasoning_only", "stop"),
    ],
)
def test_a_bad_answer_is_handed_on_as_it_is_and_never_reused(gateway, loopback, kind, status, finish_reason):
    loopback.plan(script={"8": [kind]})
    bad = gateway.say('{"number": 8}')
    assert bad.choices[0].finish_reason == finish_reason
    good = gateway.say('{"number": 8}')
    assert good.choices[0].message.content == '{"number":8}'
    assert [row[-1] for row in gateway.rows()] == [status, "ok"]


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ({"message": {"content": "a"}, "finish_reason": "stop"}, "ok"),
        ({"message": {"content": None, "tool_calls": [{"id": "1"}]}, "finish_reason": "tool_calls"}, "ok"),
        ({"message": {"tool_calls": [{"id": "1"}], "reasoning_content": "hm"}, "finish_reason": "stop"}, "ok"),
        ({"message": {"content": [{"type": "text", "text": "a"}]}, "finish_reason": "stop"}, "ok"),
        ({"message": {"content": "a"}, "finish_reason": None}, "truncated"),
        ({"message": {"content": "a"}, "finish_reason": "insufficient_system_resource"}, "truncated"),
        ({"message": {"content": " \n", "reasoning_content": "hm"}, "finish_reason": "stop"}, "reasoning_only"),
        ({"message": {"content": " \n"}, "finish_reason": "stop"}, "empty"),
        ({"message": {"content": "a", "refusal": "no"}, "finish_reason": "stop"}, "refused"),
        ({"message": None, "finish_reason": "stop"}, "empty"),
        ({}, "empty"),
        (None, "empty"),
    ],
)  # fmt: skip
def test_only_a_whole_answer_is_ok(choice, status):
    assert reply_of({"choices": [choice]}, Entry("m", "http://x/v1", "m")).status == status


def test_a_lone_surrogate_in_an_answer_comes_back_as_it_was_sent(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.says("half \ud83d"))
    contents = [
        json.loads(gateway.post(model="chatty", messages=[{"role": "user", "content": "x"}]).content) for _ in "12"
    ]
    assert [one["choices"][0]["message"]["content"] for one in contents] == ["half \ud83d"] * 2
    assert len(server.calls) == 1


def test_who_asks_the_same_at_the_same_time_shares_one_call(gateway, loopback):
    loopback.plan(latency_ms=300)

    async def ask():
        async with AsyncOpenAI(base_url=gateway.url, api_key="token-of-the-gateway", max_retries=0) as client:
            same = [
                client.chat.completions.create(model="chatty", messages=[{"role": "user", "content": "hello"}])
                for _ in range(20)
            ]
            return await asyncio.gather(*same)

    assert {answer.choices[0].message.content for answer in asyncio.run(ask())} == {"hello"}
    assert loopback.totals()["attempts"] == 1


def test_a_client_that_leaves_finds_the_answer_when_it_asks_again(gateway, loopback, wait_until):
    loopback.plan(latency_ms=500)
    with pytest.raises(openai.APITimeoutError):
        gateway.say("hello", timeout=0.2)
    wait_until(lambda: [row[-1] for row in gateway.rows()] == ["ok"])
    assert gateway.say("hello").choices[0].message.content == "hello"
    assert loopback.totals()["attempts"] == 1


def test_what_fails_in_passing_is_tried_again_and_each_attempt_is_a_row(gateway, loopback):
    loopback.plan(script={"4": ["429_ms", "500"], "5": ["cut_body"]}, retry_after_seconds=0.01)
    assert gateway.say('{"number": 4}').choices[0].message.content == '{"number":4}'
    assert gateway.say('{"number": 5}').choices[0].message.content == '{"number":5}'
    assert [row[-1] for row in gateway.rows()] == ["rate_limited", "server_error", "ok", "unreachable", "ok"]


def test_a_row_says_what_its_client_says_that_it_is_for(gateway):
    headers = {"x-alpsbench-prompt": "mem0", "x-alpsbench-subject": "user-7"}
    gateway.say("a", extra_headers=headers)
    gateway.say("b")
    assert gateway.rows() == [
        ("chatty", "mem0", "user-7", "served", "ok"),
        ("chatty", "gateway", "", "served", "ok"),
    ]


def test_money_is_counted_as_the_server_tells(gateway, loopback):
    for number in range(5):
        gateway.say(f'{{"number": {number}, "more": "some words"}}')
    charged = loopback.totals()["charged"]
    expected = charged["prompt_tokens"] * 1000 + charged["completion_tokens"] * 2000
    assert gateway.ledger.spending().nano_usd == expected > 0
    assert gateway.ledger.spending().held_nano_usd == 0


def test_requests_that_differ_are_under_way_together(gateway, loopback):
    loopback.plan(latency_ms=200)
    threads = [threading.Thread(target=gateway.say, args=(f"text {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loopback.totals()["max_in_flight"] > 1
