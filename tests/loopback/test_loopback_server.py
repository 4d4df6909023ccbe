import asyncio
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path

import httpx
import openai
import pytest
from loopback_process import SERVER, Loopback
from pydantic import BaseModel, Field

pytestmark = pytest.mark.slow


def test_a_completion_has_the_number_that_was_asked_about_and_counts_its_tokens(loopback, client, body):
    answer = client.chat.completions.create(**body(41))
    assert answer.choices[0].message.content == '{"number":41}'
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", "served")
    usage = answer.usage
    # "How many?" and {"number": 41} are 23 characters: 5 tokens, a quarter of which was cached; the answer has 13.
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (5, 8, 13)
    assert usage.prompt_tokens_details.cached_tokens == 1
    assert usage.completion_tokens_details.reasoning_tokens == 5
    [attempt] = loopback.seen()["identities"]["41"]
    assert attempt["kind"] == "ok"
    assert attempt["written"]
    assert attempt["completion_tokens"] == 8
    charged = {"attempts": 1, "prompt_tokens": 5, "cached_tokens": 1, "completion_tokens": 8, "reasoning_tokens": 5}
    assert loopback.totals()["charged"] == charged


def test_usage_comes_as_deepseek_writes_it_or_without_details_or_not_at_all(loopback, ask):
    loopback.plan(usage="deepseek")
    usage = ask().json()["usage"]
    assert (usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]) == (1, 4)
    loopback.plan(usage="bare")
    assert ask().json()["usage"] == {"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 13}
    loopback.plan(usage="none")
    assert "usage" not in ask().json()
    totals = loopback.totals()
    assert (totals["charged"]["attempts"], totals["charged_unseen"]["attempts"]) == (2, 1)


class Part(BaseModel):
    share: float = Field(ge=0.7)
    kind: str = Field(min_length=3)


class Whole(BaseModel):
    name: str
    count: int
    parts: list[Part] = Field(min_length=2)
    tags: list[str]
    maybe: int | None


def test_the_schema_responder_makes_a_valid_value_of_any_form(loopback, client, body):
    loopback.plan(responder="schema")
    answer = client.chat.completions.parse(**body("x"), response_format=Whole)
    assert answer.choices[0].message.parsed == Whole(
        name="x", count=1, parts=[Part(share=0.7, kind="xxx")] * 2, tags=[], maybe=1
    )


def test_the_echo_responder_says_what_was_said(loopback, client):
    loopback.plan(responder="echo")
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "你好 {"}])
    assert answer.choices[0].message.content == "你好 {"


def test_a_tool_that_must_be_called_is_called(loopback, client, body):
    tools = [openai.pydantic_function_tool(Whole), openai.pydantic_function_tool(Part)]
    [called] = client.chat.completions.create(**body(1), tools=tools, tool_choice="required").choices
    assert called.finish_reason == "tool_calls"
    assert called.message.content is None
    assert Whole.model_validate_json(called.message.tool_calls[0].function.arguments).count == 1
    named = {"type": "function", "function": {"name": "Part"}}
    [called] = client.chat.completions.create(**body(1), tools=tools, tool_choice=named).choices
    assert called.message.tool_calls[0].function.name == "Part"


def test_an_answer_never_has_more_tokens_than_the_request_allows(loopback, ask):
    answer = ask(123456, max_tokens=7).json()
    assert answer["usage"]["completion_tokens"] == 7
    # Five of the seven are reasoning; two hold eight characters.
    assert answer["choices"][0]["message"]["content"] == '{"number'
    assert answer["choices"][0]["finish_reason"] == "length"
    assert loopback.totals()["kinds"] == {"over_max_tokens": 1}


def test_a_repair_round_is_of_the_same_identity_and_another_text_is_not(loopback, client, body):
    more = [{"role": "assistant", "content": "?"}, {"role": "user", "content": '{"number": 9}'}]
    asked = body(8)
    client.chat.completions.create(**asked)
    client.chat.completions.create(**{**asked, "messages": asked["messages"] + more})
    for text, round in (("Hello", []), ("Hello", more), ("Bye", [])):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}, *round])
    seen = loopback.seen()["identities"]
    assert sorted(map(len, seen.values())) == [1, 2, 2]
    assert len(seen["8"]) == 2
    assert all(len(name) == 12 for name in seen if name != "8")
    assert loopback.totals()["answered_again"] == 2


def test_embeddings_are_unit_vectors_that_depend_on_the_text_alone(loopback, client):
    floats = client.embeddings.create(model="e", input=["one", "two", "one"], dimensions=64, encoding_format="float")
    one, two, again = (item.embedding for item in floats.data)
    assert one == again != two
    assert len(one) == 64
    assert math.isclose(sum(number * number for number in two), 1)
    coded = client.embeddings.with_raw_response.create(
        model="e", input="two", dimensions=64, encoding_format="base64"
    ).http_response.json()
    assert struct.unpack("<64f", b64decode(coded["data"][0]["embedding"])) == pytest.approx(two, rel=1e-6)
    assert floats.usage.prompt_tokens == 9 // 4
    assert loopback.totals()["charged"]["prompt_tokens"] == 2 + 1


def test_faults_come_to_other_endpoints_where_the_plan_says(loopback, client):
    loopback.plan(script={"*": ["503", "ok"]}, endpoints=["embeddings", "models"])
    with pytest.raises(openai.InternalServerError):
        client.embeddings.create(model="e", input="x")
    assert client.embeddings.create(model="e", input="x").data
    with pytest.raises(openai.InternalServerError):
        client.models.list()
    assert [model.id for model in client.models.list()] == ["loopback"]
    assert loopback.totals()["api"] == {"GET /v1/models": {"503": 1, "ok": 1}}


def test_the_latency_is_waited_and_calls_in_flight_are_counted_and_limited(loopback, body):
    async def ask_all() -> list[int]:
        async with httpx.AsyncClient(timeout=5) as client:
            calls = (client.post(loopback.url + "/chat/completions", json=body(number)) for number in range(8))
            return sorted(response.status_code for response in await asyncio.gather(*calls))

    loopback.plan(latency_ms=500)
    assert asyncio.run(ask_all()) == [200] * 8
    assert loopback.totals()["max_in_flight"] == 8
    loopback.plan(latency_ms=500, max_inflight=3)
    assert asyncio.run(ask_all()) == [200] * 3 + [429] * 5
    assert loopback.totals()["kinds"] == {"ok": 11, "too_many": 5}
    assert loopback.totals()["in_flight"] == 0


def test_the_same_seed_makes_the_same_faults_in_any_order_and_another_seed_others(loopback, ask):
    def kinds(seed: int, numbers: list[int]) -> dict[str, list[str]]:
        loopback.reset()
        loopback.plan(seed=seed, fault_share=0.5, kinds=["server_errors", "stopping"], max_faults_per_subject=3)
        for _ in range(4):
            for number in numbers:
                ask(number)
        seen = loopback.seen()["identities"]
        return {name: [attempt["kind"] for attempt in attempts] for name, attempts in seen.items()}

    first = kinds(1, list(range(20)))
    assert kinds(1, list(range(20))[::-1]) == first
    assert kinds(2, list(range(20))) != first
    assert all(sum(kind != "ok" for kind in each) <= 3 for each in first.values())
    # Half of 80 draws, less what the maximum forbids: 25 to 55 is some three standard deviations.
    assert 25 <= sum(kind != "ok" for each in first.values() for kind in each) <= 55


def test_a_permanent_identity_gets_the_same_fault_for_ever_and_the_others_none(loopback, ask):
    loopback.plan(permanent_share=0.5, kinds=["server_errors"])
    for _ in range(4):
        for number in range(20):
            ask(number)
    kinds = [{attempt["kind"] for attempt in attempts} for attempts in loopback.seen()["identities"].values()]
    assert all(len(each) == 1 for each in kinds)
    assert 4 <= sum(each != {"ok"} for each in kinds) <= 16


def test_rate_limits_come_in_bursts_up_to_the_maximum(loopback, ask):
    loopback.plan(fault_share=0.3, kinds=["429_ms"], burst=3, max_faults_per_subject=6, retry_after_seconds=0)
    for _ in range(12):
        for number in range(5):
            ask(number)
    for attempts in loopback.seen()["identities"].values():
        runs = "".join("x" if attempt["kind"] == "429_ms" else " " for attempt in attempts).split()
        assert all(len(run) % 3 == 0 or attempts[-1]["kind"] == "429_ms" for run in runs)
        assert sum(map(len, runs)) <= 6


def test_an_attempt_that_comes_before_the_time_it_was_told_is_early(loopback, ask):
    loopback.plan(script={"*": ["429_seconds"]}, retry_after_seconds=3600)
    ask(1)
    ask(1)
    loopback.plan(script={"*": ["429_seconds"]}, retry_after_seconds=0.05)
    ask(2)
    time.sleep(0.06)
    ask(2)
    assert [[attempt["early"] for attempt in each] for each in loopback.seen()["identities"].values()] == [
        [False, True],
        [False, False],
    ]
    assert loopback.totals()["early"] == 1


def test_an_unknown_name_in_a_plan_is_refused(loopback, raw):
    control = loopback.url.removesuffix("/v1") + "/control"
    for plan in ({"sead": 1}, {"kinds": ["oops"]}, {"script": {"1": ["oops"]}}, {"fault_share": 1}, {"usage": "no"}):
        refused = raw.post(control, json=plan)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_plan")
    assert loopback.plan(seed=3)["seed"] == raw.get(control).json()["seed"] == 3


def test_a_server_with_a_key_wants_it_and_stops_when_told():
    with Loopback(key="secret") as server:
        assert httpx.get(server.url + "/models").status_code == 401
        assert httpx.get(server.url + "/models", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert server.process.returncode == 0


def test_the_server_ends_when_its_parent_is_killed():
    starts = f"""if True:
        import sys, time
        sys.path.insert(0, {str(SERVER.parent)!r})
        from loopback_process import Loopback
        print(Loopback().process.pid, flush=True)
        time.sleep(60)"""
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        server = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while _is_running(server) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _is_running(server)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_was_said_is_nowhere_in_what_was_seen(loopback, client):
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "I live in Trondheim"}])
    assert "Trondheim" not in json.dumps(loopback.seen())
