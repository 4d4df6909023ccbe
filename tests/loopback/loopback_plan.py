"""What the loopback server does to whom: a plan, and the draw by hash that makes it the same in every run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, get_args

from loopback_kinds import expand, is_kind

Responder = Literal["number", "echo", "schema"]
Usage = Literal["full", "deepseek", "bare", "none"]
Endpoint = Literal["chat", "embeddings", "files", "batches", "models"]
BatchOutcome = Literal["completed", "expired", "failed", "never", "missing_line", "doubled_line"]


@dataclass(frozen=True)
class Plan:
    """How the server answers. Shares are 0..1; a plan that says nothing answers all at once and well."""

    seed: int = 0
    latency_ms: float = 0
    jitter_ms: float = 0
    fault_share: float = 0
    """Of attempts, for identities that are not permanent."""
    permanent_share: float = 0
    """Of identities, those that get the same fault for ever."""
    kinds: Sequence[str] = ()
    max_faults_per_subject: int = 2
    burst: int = 1
    """How often in a row a 429 comes once it comes; the maximum per subject holds."""
    script: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Per identity ("*": all others) a list of kinds and "ok", in order, then ok; or one kind, for ever."""
    max_inflight: int = 0
    """Above it a call is answered 429 at once; 0: no limit."""
    retry_after_seconds: float = 1
    slow_seconds: float = 5
    cured_above: int = 1000
    """`length_cured` is ok where the request allows more tokens than this."""
    endpoints: Sequence[Endpoint] = ("chat",)
    """Where faults come; outside of chat no bad answers or bodies, only statuses and connections."""
    identity_key: str = "number"
    responder: Responder = "number"
    usage: Usage = "full"
    cached_share: float = 0.25
    reasoning_tokens: int = 5
    dimensions: int = 256
    models: Sequence[str] = ("loopback",)
    batch_seconds: float = 0
    batch_outcomes: Sequence[BatchOutcome] = ()
    """How the first, second, ... job since the last reset ends; all others are completed."""
    batch_done_share: float = 0.5
    """Of the lines of a job that expires or is cancelled, those that were done before."""
    batch_max_lines: int = 50_000


def read_plan(given: Mapping[str, Any]) -> Plan:
    """Make a plan of what is given; everything else is as in a plan that says nothing.

    Raises:
        ValueError: a key or a kind is unknown.
    """
    if unknown := given.keys() - Plan.__dataclass_fields__.keys():
        raise ValueError(f"unknown in a plan: {', '.join(sorted(unknown))}")
    plan = Plan(**{**given, "kinds": expand(given.get("kinds", ()))})
    scripted = [kind for kinds in plan.script.values() for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if bad := [kind for kind in scripted if kind != "ok" and not is_kind(kind)]:
        raise ValueError(f"unknown kinds: {', '.join(bad)}")
    for name, known in (("responder", Responder), ("usage", Usage)):
        if getattr(plan, name) not in get_args(known):
            raise ValueError(f"unknown {name}; known: {', '.join(get_args(known))}")
    for name, listed in (("endpoints", Endpoint), ("batch_outcomes", BatchOutcome)):
        if set(getattr(plan, name)) - set(get_args(listed)):
            raise ValueError(f"unknown {name}; known: {', '.join(get_args(listed))}")
    if (plan.fault_share or plan.permanent_share) and not plan.kinds:
        raise ValueError("a share of faults needs kinds")
    return plan


@dataclass(slots=True)
class Fate:
    """What one identity has met so far."""

    sights: int = 0
    faults: int = 0
    repeats: list[str] = field(default_factory=list)


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on the parts alone."""
    text = "|".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=6).digest()) / 2**48


def decide(plan: Plan, identity: str, fate: Fate) -> str:
    """Return the kind of this sight of an identity, "ok" or a fault, and count it."""
    kind = _scripted(plan, identity, fate) if plan.script else None
    kind = kind or _drawn(plan, identity, fate)
    fate.sights += 1
    fate.faults += kind != "ok"
    return kind


def _scripted(plan: Plan, identity: str, fate: Fate) -> str | None:
    kinds = plan.script.get(identity, plan.script.get("*"))
    if kinds is None or isinstance(kinds, str):
        return kinds
    return kinds[fate.sights] if fate.sights < len(kinds) else "ok"


def _drawn(plan: Plan, identity: str, fate: Fate) -> str:
    if plan.permanent_share and draw(plan.seed, identity, "permanent") < plan.permanent_share:
        return _one_of(plan.kinds, plan.seed, identity, "which")
    if not plan.fault_share or fate.faults >= plan.max_faults_per_subject:
        return "ok"
    if fate.repeats:
        return fate.repeats.pop()
    if draw(plan.seed, identity, fate.sights) >= plan.fault_share:
        return "ok"
    kind = _one_of(plan.kinds, plan.seed, identity, fate.sights, "which")
    if kind.startswith("429"):
        fate.repeats = [kind] * (plan.burst - 1)
    return kind


def _one_of(kinds: Sequence[str], *parts: object) -> str:
    return kinds[int(draw(*parts) * len(kinds))]
