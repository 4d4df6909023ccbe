"""Brings what a validator says of a candidate into normal form, and tells what that changed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from stages.evidence import Span
from stages.taxonomy import REJECTED, UNMAPPED, WEAK, confidence_of, label_of, type_of

DEBRIS = re.compile(r"\s*[\[【]\s*ERROR(?:[^\[\]【】]|\[[^\[\]]*\]?)*+[\]】]?\s*", re.IGNORECASE)
"""What broken tools leave in a value: from `[ERROR` to the bracket that closes it, or to the end."""
CHANGING = ("type", "label", "value", "confidence")
Weak: TypeAlias = Literal["drop", "downgrade"]
"""What becomes of a memory that no words of the user bear out."""
Record: TypeAlias = dict[str, Any]


class Verdict(BaseModel):
    """What the validator makes of one candidate; confidence 0.10 rejects it."""

    number: int
    type: str
    label: str | None
    label_suggestion: str | None
    value: str
    confidence: float = Field(allow_inf_nan=False)
    emotion: str | None
    context: Literal["self", "role_play", "translation", "for_others"]
    time_scope: Literal["long_term", "short_term", "recent", "past", "unknown"]
    preference_attitude: Literal["like", "dislike"] | None


class Verdicts(BaseModel):
    """One verdict a candidate, in the order of the candidates."""

    memories: list[Verdict]


def memory_of(verdict: Verdict) -> Record:
    """Bring one verdict into normal form; where that is not possible, or it rejects, it has a `drop_reason`."""
    type, value = type_of(verdict.type), DEBRIS.sub(" ", verdict.value).strip()
    if not value:
        return {"drop_reason": "debris" if verdict.value.strip() else "empty_value"}
    if type is None:
        return {"value": value, "drop_reason": "unknown_type", "drop_detail": verdict.type[:40]}
    confidence, label = confidence_of(verdict.confidence, type), label_of(verdict.label)
    return {
        "type": type,
        "label": label,
        "label_suggestion": _text(verdict.label_suggestion) or _text(verdict.label) if label == UNMAPPED else None,
        "value": value,
        "confidence": confidence,
        "emotion": _text(verdict.emotion),
        "context": verdict.context,
        "time_scope": verdict.time_scope,
        "preference_attitude": verdict.preference_attitude,
        "drop_reason": "rejected_by_validator" if confidence == REJECTED else None,
    }


def with_evidence(
    memory: Record, span: Span | None, turns: Sequence[Mapping[str, str]], *, on_assistant: Weak, not_found: Weak
) -> Record:
    """Put the evidence beside a memory; without words of the user it is dropped, or as weak as can be."""
    record = memory | {"evidence_way": span.way if span else "not_found"}
    if span:
        record["evidence_text"] = turns[span.message]["text"][span.start : span.end]
        record |= {"evidence_message": span.message, "evidence_start": span.start, "evidence_end": span.end}
        if span.way != "assistant":
            return record
    if (on_assistant if span else not_found) == "downgrade":
        return record | {"confidence": WEAK}
    detail = f"only the assistant said it, in message {span.message}" if span else None
    return record | {"drop_reason": "evidence_not_found", "drop_detail": detail}


def changes_of(candidate: Mapping[str, Any], verdict: Verdict, memory: Record) -> Iterator[dict[str, str | None]]:
    """Tell what was changed on the way from a candidate to a memory: by the validator, then by its normal form."""
    for field in CHANGING:
        steps = [candidate[field], getattr(verdict, field), memory[field]]
        for by, given, taken in zip(("validator", "normal_form"), steps, steps[1:], strict=False):
            if given != taken:
                yield {"field": field, "changed_by": by, "given": _shown(given), "taken": _shown(taken)}


def _shown(value: object) -> str | None:
    return f"{value:g}" if isinstance(value, float) else None if value is None else str(value)


def _text(text: str | None) -> str | None:
    """Return a text without the space around it; of one that holds nothing else, nothing."""
    return (text or "").strip() or None
