"""Faults of the endpoints that are no completions: statuses, connections and bodies around what is right."""

from collections.abc import Callable

from loopback_faults import WIRES, body_answer, status_answer
from loopback_http import Answer
from loopback_kinds import UNCHARGED, is_status
from loopback_model import Model
from loopback_plan import Endpoint, Plan


def answer_api(plan: Plan, kind: str, work: Callable[[], Answer]) -> Answer:
    """Answer with what `work` returns, broken as the kind says; a kind of completions alone breaks nothing.

    The work is done whenever the answer is lost on its way or is the wrong body: a file is stored, a job is made.
    """
    if is_status(kind):
        return status_answer(plan, kind)
    answer = work()
    if kind in UNCHARGED:
        return body_answer(kind)
    answer.wire, answer.drip_seconds = WIRES.get(kind, "whole"), plan.slow_seconds
    answer.delay_seconds = plan.slow_seconds if kind == "slow" else 0
    return answer


def call_api(model: Model, name: str, endpoint: Endpoint, work: Callable[[], Answer]) -> Answer:
    """Answer a call that costs no tokens; `name` is its identity, such as "POST /v1/batches"."""
    kind = model.decide(name, endpoint)
    model.seen.api[name][kind] += 1
    return answer_api(model.plan, kind, work)
