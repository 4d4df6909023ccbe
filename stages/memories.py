"""What each dialogue tells of its user: candidates checked by a model, in normal form, with their evidence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, Field

from llm.gateway import Model, Outcome, Prompt, Request
from stages.beside import beside
from stages.candidate_memories import numbered
from stages.draws import digest
from stages.evidence import find_evidence
from stages.item import Item
from stages.taxonomy import REJECTED, UNMAPPED, confidence_of, label_of, type_of
from warehouse import Warehouse

PROMPT = Prompt("memories", beside(__file__, ".prompt.md"))
ITEM = Item("candidate_memories", "candidate_id")
DEBRIS = re.compile(r"\s*\[ERROR[^\]]*\]?\s*", re.IGNORECASE)
TEXTS = (
    *("memory_id", "candidate_id", "dialogue_id", "user_id", "language", "type", "label", "label_suggestion"),
    *("value", "evidence_text", "evidence_way", "emotion", "context", "time_scope", "preference_attitude"),
    *("given_label", "given_type", "extractor", "validator", "drop_reason", "drop_detail"),
)
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS[:9]),
        ("confidence", pa.float64()),
        ("given_confidence", pa.float64()),
        *((name, pa.int32()) for name in ("evidence_message", "evidence_start", "evidence_end")),
        *((name, pa.string()) for name in TEXTS[9:]),
    ]
)
DIALOGUES = """
    select dialogue_id, any_value(user_id), any_value(conversation_hash), any_value(language), any_value(turns),
        list(struct_pack(candidate_id := candidate_id, number := number, type := type, label := label,
            label_suggestion := label_suggestion, value := value, confidence := candidate_memories.confidence,
            evidence_text := evidence_text, extractor := extractor) order by number)
    from candidate_memories
    join dialogues using (dialogue_id)
    group by dialogue_id
    order by dialogue_id
"""
SHOWN = ("number", "type", "label", "label_suggestion", "value", "confidence", "evidence_text")


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


def memories(db: Warehouse, *, validator: Model) -> pa.Table:
    """One row a memory, with the span of a user message that it rests on.

    Dropped: what the validator rejects, what has no evidence among the user's words, what is said twice,
    and the debris of broken tools.
    """
    rows = db.execute(DIALOGUES).fetchall()
    requests = [_request(hash, language, turns, found) for _, _, hash, language, turns, found in rows]
    outcomes = validator.ask(PROMPT, requests, Verdicts)
    records: list[dict[str, Any]] = []
    for (dialogue_id, user_id, _, language, turns, found), outcome in zip(rows, outcomes, strict=True):
        of_dialogue = {"dialogue_id": dialogue_id, "user_id": user_id, "language": language}
        seen: set[str] = set()
        for record in _judged(found, outcome, turns):
            record |= {**of_dialogue, "validator": validator.name}
            # With the user, whose id is made with a secret: else anybody could work out ids from WildChat itself.
            record["memory_id"] = "m" + digest(user_id, dialogue_id, record.get("label"), record.get("value"))[:16]
            if "drop_reason" not in record and record["memory_id"] in seen:
                record["drop_reason"] = "repeated_in_dialogue"
            if "drop_reason" not in record:
                seen.add(record["memory_id"])
            records.append(record)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def _request(subject: str, language: str, turns: list[dict[str, str]], found: Sequence[Mapping[str, Any]]) -> Request:
    candidates = [{key: one[key] for key in SHOWN} for one in found]
    return Request(subject, {"language": language, "dialogue": numbered(turns), "candidates": candidates})


def _judged(
    found: Sequence[Mapping[str, Any]], outcome: Outcome[Verdicts], turns: Sequence[Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    verdicts = outcome.answer.memories if outcome.answer else []
    reason: str | None = None if outcome.answer else outcome.status
    if outcome.answer and [one.number for one in verdicts] != [one["number"] for one in found]:
        reason, verdicts = "validator_changed_the_list", []
    for position, candidate in enumerate(found):
        given = {
            "candidate_id": candidate["candidate_id"],
            "extractor": candidate["extractor"],
            "given_label": candidate["label"],
            "given_type": candidate["type"],
            "given_confidence": candidate["confidence"],
        }
        if reason:
            yield {**given, "drop_reason": reason, "drop_detail": outcome.detail}
        else:
            yield {**given, **memory_of(verdicts[position], candidate["evidence_text"], turns)}


def memory_of(verdict: Verdict, quotation: str, turns: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Bring one verdict into normal form; where that is not possible, it has a `drop_reason`."""
    type, value = type_of(verdict.type), DEBRIS.sub(" ", verdict.value).strip()
    if not value:
        return {"drop_reason": "debris" if verdict.value.strip() else "empty_value"}
    if type is None:
        return {"value": value, "drop_reason": "unknown_type", "drop_detail": verdict.type[:40]}
    confidence, label = confidence_of(verdict.confidence, type), label_of(verdict.label)
    record = {
        "type": type,
        "label": label,
        "label_suggestion": _text(verdict.label_suggestion) or _text(verdict.label) if label == UNMAPPED else None,
        "value": value,
        "confidence": confidence,
        "emotion": _text(verdict.emotion),
        "context": verdict.context,
        "time_scope": verdict.time_scope,
        "preference_attitude": verdict.preference_attitude,
    }
    if confidence == REJECTED:
        return {**record, "drop_reason": "rejected_by_validator"}
    if (span := find_evidence(quotation, turns)) is None:
        return {**record, "drop_reason": "evidence_not_found"}
    return {
        **record,
        "evidence_text": turns[span.message]["text"][span.start : span.end],
        "evidence_message": span.message,
        "evidence_start": span.start,
        "evidence_end": span.end,
        "evidence_way": span.way,
    }


def _text(text: str | None) -> str | None:
    """Return a text without the space around it; of one that holds nothing else, nothing."""
    return (text or "").strip() or None
