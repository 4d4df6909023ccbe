"""The items of task 2: memories, and a later dialogue that adds one and changes one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, Field

from llm.gateway import Model, Prompt, Request
from stages.beside import beside
from stages.draws import digest
from stages.fair_draws import Pool, candidate_id, fair_places
from stages.item import Item
from stages.taxonomy import CONFIDENCES, REJECTED, UNMAPPED, confidence_of, label_of, type_of
from warehouse import Warehouse

PROMPT = Prompt("update_items", beside(__file__, ".prompt.md"))
ITEM = Item("targets", "target_id", "kind = 'update'")
LOWEST = min(one for one in CONFIDENCES if one != REJECTED)
MESSAGE = pa.struct([("role", pa.string()), ("text", pa.string())])
MEMORY = pa.struct(
    [
        *((name, pa.string()) for name in ("memory_id", "type", "label", "value")),
        ("confidence", pa.float64()),
        ("evidence_text", pa.string()),
    ]
)
ACTION = pa.struct([("memory_id", pa.string()), ("action", pa.string())])
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("item_id", "target_id", "user_id", "split", "dialogue_id")),
        ("memory_id", pa.string()),
        ("memory", pa.list_(MEMORY)),
        ("new_dialogue", pa.list_(MESSAGE)),
        ("answer", pa.list_(MEMORY)),
        ("actions", pa.list_(ACTION)),
        ("generator", pa.string()),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)
TARGETS = """
    select target_id, targets.user_id, split, targets.dialogue_id, targets.memory_id, coalesce(any_value(language), ''),
        list(struct_pack(memory_id := gold_memories.memory_id, type := gold_memories.type,
            label := gold_memories.label, value := value, confidence := gold_memories.confidence,
            evidence_text := evidence_text) order by sha256(target_id || gold_memories.memory_id))
    from targets
    join gold_memories using (dialogue_id)
    where kind = 'update'
    group by target_id, targets.user_id, split, targets.dialogue_id, targets.memory_id
    order by target_id
"""


class Message(BaseModel):
    """One message of a dialogue."""

    role: Literal["user", "assistant"]
    text: str


class NewMemory(BaseModel):
    """A memory that a piece of dialogue brings."""

    type: str
    label: str
    value: str
    confidence: float = Field(allow_inf_nan=False)
    evidence_text: str


class Piece(BaseModel):
    """A piece of dialogue with the one memory that it brings."""

    dialogue: list[Message]
    memory: NewMemory


class Segments(BaseModel):
    """The three kinds of piece that a new dialogue is made of."""

    noise: list[Message]
    update: Piece
    conflict: Piece


def update_items(db: Warehouse, *, generator: Model, noise_turns: int) -> pa.Table:
    """One row an item: the memories before, the new dialogue, the memories after, and what happened to each.

    The new dialogue is noise, update, noise and conflict, the last two pieces in an order drawn by hash.
    """
    rows = db.execute(TARGETS).fetchall()
    requests = [_request(memory_id, language, found, noise_turns) for *_, memory_id, language, found in rows]
    outcomes = generator.ask(PROMPT, requests, Segments)
    records: list[dict[str, Any]] = []
    seen: set[frozenset[str]] = set()
    whole: list[tuple[dict[str, Any], list[dict[str, Any]], Segments]] = []
    for row, outcome in sorted(zip(rows, outcomes, strict=True), key=lambda pair: item_id_of(pair[0][0])):
        target_id, user_id, split, dialogue_id, memory_id, _, found = row
        record = {
            "item_id": item_id_of(target_id),
            "target_id": target_id,
            "user_id": user_id,
            "split": split,
            "dialogue_id": dialogue_id,
            "memory_id": memory_id,
            "generator": generator.name,
        }
        records.append(record)
        if outcome.answer is None:
            record |= {"drop_reason": outcome.status, "drop_detail": outcome.detail}
        elif fault := next(faults_of(outcome.answer, noise_turns, [one["value"] for one in found]), None):
            record["drop_reason"] = fault
        elif (state := state_after(memory_id, found, outcome.answer)) in seen:
            # Gold of one split would stand in another.
            record["drop_reason"] = "state_of_another_item"
        else:
            seen.add(state)
            whole.append((record, found, outcome.answer))
    places = fair_places([Pool(record["item_id"], len(found)) for record, found, _ in whole])
    for (record, found, segments), place in zip(whole, places, strict=True):
        changed = next(one for one in found if one["memory_id"] == record["memory_id"])
        found.remove(changed)
        found.insert(place, changed)
        record |= item_of(record["item_id"], record["memory_id"], found, segments)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def state_after(memory_id: str, before: Sequence[Mapping[str, Any]], segments: Segments) -> frozenset[str]:
    """Return the values of the memories after, as they are compared."""
    kept = [one["value"] for one in before if one["memory_id"] != memory_id]
    return frozenset(map(_plain, [*kept, segments.conflict.memory.value, segments.update.memory.value]))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def item_id_of(target_id: str) -> str:
    """Return the id of the item about a target."""
    return "i" + digest("task2", target_id)[:16]


def _request(memory_id: str, language: str, found: Sequence[Mapping[str, Any]], noise_turns: int) -> Request:
    memory = next(one for one in found if one["memory_id"] == memory_id)
    existing = [one["value"] for one in found if one["memory_id"] != memory_id]
    shown = {"memory": memory, "existing": existing, "language": language, "noise_turns": noise_turns}
    return Request(memory_id, shown)


def faults_of(segments: Segments, noise_turns: int, known: Sequence[str]) -> Iterator[str]:
    """Say what is wrong with generated pieces, if anything; `known` are the values of the memories before."""
    before = {_plain(value) for value in known}
    if len(segments.noise) != noise_turns:
        yield "wrong_number_of_noise_turns"
    for piece in (segments.update, segments.conflict):
        said = [message.text for message in piece.dialogue if message.role == "user"]
        evidence = piece.memory.evidence_text
        if not evidence.strip() or not any(evidence in text for text in said):
            yield "evidence_not_in_new_dialogue"
        if not piece.memory.value.strip():
            yield "empty_value"
        if _plain(piece.memory.value) in before:
            yield "nothing_new"
        if piece.memory.confidence < LOWEST:
            yield "confidence_too_low"
        if type_of(piece.memory.type) is None:
            yield "unknown_type"


def item_of(item_id: str, memory_id: str, before: Sequence[Mapping[str, Any]], segments: Segments) -> dict[str, Any]:
    """Put an item together: ids are opaque and drawn for it alone."""
    ids = {one["memory_id"]: candidate_id(item_id, place) for place, one in enumerate(before)}
    shown = [{**one, "memory_id": ids[one["memory_id"]]} for one in before]
    changed, added = ids[memory_id], candidate_id(item_id, len(before))
    label = next(one["label"] for one in before if one["memory_id"] == memory_id)
    conflict = normal_memory(f"{changed}_updated", segments.conflict.memory) | {"label": label}
    kept = [one for one in shown if one["memory_id"] != changed]
    actions = {
        **{one["memory_id"]: "Retention" for one in kept},
        conflict["memory_id"]: "Modification",
        added: "Addition",
    }
    return {
        "memory": shown,
        "new_dialogue": [message.model_dump() for message in _woven(item_id, segments)],
        "answer": [*kept, conflict, normal_memory(added, segments.update.memory)],
        "actions": [{"memory_id": one, "action": action} for one, action in sorted(actions.items())],
    }


def normal_memory(memory_id: str, memory: NewMemory) -> dict[str, Any]:
    """Return a generated memory in normal form, under the id given."""
    type = type_of(memory.type) or "direct"
    return {
        "memory_id": memory_id,
        "type": type,
        "label": label_of(memory.label) if memory.label else UNMAPPED,
        "value": memory.value,
        "confidence": confidence_of(memory.confidence, type),
        "evidence_text": memory.evidence_text,
    }


def _woven(item_id: str, segments: Segments) -> list[Message]:
    middle = len(segments.noise) // 4 * 2
    pieces = [segments.update.dialogue, segments.conflict.dialogue]
    if int(digest("order", item_id), 16) % 2:
        pieces.reverse()
    return [*segments.noise[:middle], *pieces[0], *segments.noise[middle:], *pieces[1]]
