"""Completions, good and bad, one by one or as lines of a batch."""

from typing import Any

import orjson
from loopback_completions import Call, completion, cost, read_call, respond, within
from loopback_faults import WIRES, bad_message, bad_text, body_answer, break_shape, status_answer
from loopback_http import Answer, Request, error_answer
from loopback_kinds import BROKEN, UNCHARGED, is_status
from loopback_model import Model
from loopback_plan import Plan
from loopback_seen import Attempt


def answer_chat(model: Model, request: Request) -> Answer:
    """Answer POST /v1/chat/completions."""
    try:
        call = read_call(orjson.loads(request.body), model.plan.identity_key)
    except ValueError as error:
        return error_answer(400, "invalid_request", str(error))
    if call.body.get("stream"):
        return error_answer(400, "unsupported", "This server does not stream.")
    if model.is_full():
        attempt = model.seen.begin(call.identity, "too_many", "chat")
        return model.finish(status_answer(model.plan, "429_ms"), call.identity, attempt)
    kind = _cured(model.plan, call, model.decide(call.identity, "chat"))
    attempt = model.seen.begin(call.identity, kind, "chat")
    return model.finish(_answer(model.plan, call, kind, attempt), call.identity, attempt)


def answer_line(model: Model, body: Any) -> tuple[int, Any, Attempt]:
    """Answer one line of a batch: status, body, and the attempt, whose answer is not written yet."""
    try:
        call = read_call(body, model.plan.identity_key)
    except ValueError as error:
        refused = error_answer(400, "invalid_request", str(error))
        return 400, orjson.loads(refused.body), model.seen.begin("none", "400", "chat", "batch")
    kind = _cured(model.plan, call, model.decide(call.identity, "chat"))
    attempt = model.seen.begin(call.identity, kind, "chat", "batch")
    # A connection that breaks behind the batch API is the API's own server error.
    answer = status_answer(model.plan, "500") if kind in BROKEN else _answer(model.plan, call, kind, attempt)
    attempt.status = answer.status
    try:
        return answer.status, orjson.loads(answer.body), attempt
    except ValueError:
        attempt.status = 500
        return 500, answer.body.decode(), attempt


def _answer(plan: Plan, call: Call, kind: str, attempt: Attempt) -> Answer:
    if is_status(kind):
        return status_answer(plan, kind)
    if kind in UNCHARGED:
        return body_answer(kind)
    attempt.is_charged, attempt.shows_usage = True, plan.usage != "none"
    answer = Answer(200, orjson.dumps(_complete(plan, call, kind, attempt)), wire=WIRES.get(kind, "whole"))
    answer.drip_seconds = plan.slow_seconds
    answer.delay_seconds = plan.slow_seconds if kind == "slow" else 0
    return answer


def _complete(plan: Plan, call: Call, kind: str, attempt: Attempt) -> dict[str, Any]:
    text = bad_text(kind, respond(plan, call))
    attempt.tokens = cost(plan, call, text)
    allowed = within(attempt.tokens, text)
    message, finish_reason = bad_message(kind, call, allowed)
    if allowed != text:
        finish_reason = "length"
        attempt.kind = "over_max_tokens" if kind == "ok" else kind
    return break_shape(kind, completion(plan, call, attempt.tokens, message, finish_reason))


def _cured(plan: Plan, call: Call, kind: str) -> str:
    is_cured = kind == "length_cured" and (call.most_tokens or 0) > plan.cured_above
    return "ok" if is_cured else kind
