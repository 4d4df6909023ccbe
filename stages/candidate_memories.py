"""What each dialogue may tell of its user: the first, generous reading by a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, Field

from llm.gateway import Model, Outcome, Prompt, Request
from stages.beside import beside
from stages.draws import digest
from stages.item import Item
from stages.rounds import ask_in_rounds, part_of, room_beside
from stages.windows import Window, as_window, halves_of, merged, windows_of
from stages.workers import HERE, Workers, count_of, joined, pieces_of, share_of
from warehouse import Warehouse

PROMPT = Prompt("candidate_memories", beside(__file__, ".prompt.md"))
ITEM = Item("dialogues", "dialogue_id")
COLUMNS = pa.schema(
    [
        ("candidate_id", pa.string()),
        ("dialogue_id", pa.string()),
        ("number", pa.int32()),
        ("type", pa.string()),
        ("label", pa.string()),
        ("label_suggestion", pa.string()),
        ("value", pa.string()),
        ("confidence", pa.float64()),
        ("evidence_text", pa.string()),
        ("extractor", pa.string()),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)
DIALOGUES = """
    select dialogue_id, conversation_hash, language, if(kept_id is null, turns, null) as turns, kept_id
    from dialogues
    left join duplicate_dialogues on member_id = dialogue_id
"""
SPLIT = {"truncated", "too_long"}
"""The ends of a question that a smaller one may not come to."""


class MemoryItem(BaseModel):
    """One thing that a model found, as it wrote it."""

    type: str
    label: str | None
    label_suggestion: str | None = None
    value: str
    confidence: float = Field(allow_inf_nan=False)
    evidence_text: str


class MemoryItems(BaseModel):
    """All that a model found in one dialogue."""

    memory_items: list[MemoryItem]


@dataclass(frozen=True)
class Part:
    """A window of a dialogue, to be read by itself."""

    subject: str
    language: str | None
    window: Window

    @property
    def request(self) -> Request:
        """What the extractor is asked."""
        return Request(self.subject, {"language": self.language, "dialogue": [one.shown for one in self.window]})


Answered = Sequence[tuple[Part, Outcome[MemoryItems]]]


def candidate_memories(db: Warehouse, *, extractor: Model, workers: Workers = HERE) -> pa.Table:
    """One row a candidate. A near-duplicate dialogue is not read, and one without an answer is dropped.

    A dialogue that is too long for the extractor, or whose answer was cut, is read in windows; where one of them has no
    answer, the dialogue has none.
    """
    extractor.expected = count_of(db, "(from dialogues anti join duplicate_dialogues on member_id = dialogue_id)")
    pieces = pieces_of(db, DIALOGUES, share_of(extractor.at_once, extractor.expected, workers))
    return joined(workers.each(read_dialogues, pieces, extractor=extractor), COLUMNS, "dialogue_id")


def read_dialogues(piece: pa.Table, *, extractor: Model) -> pa.Table:
    """Read some of the dialogues."""
    rows = [tuple(row.values()) for row in piece.to_pylist()]
    asked = [row for row in rows if row[4] is None]
    room = room_beside(extractor, PROMPT, MemoryItems, {"language": "", "dialogue": []})
    dialogues = [
        [Part(hash, language, window) for window in windows_of(turns, room)] for _, hash, language, turns, _ in asked
    ]
    answers = ask_in_rounds(extractor, PROMPT, MemoryItems, dialogues, _smaller)
    records = [
        *({"dialogue_id": row[0], "drop_reason": "near_duplicate_dialogue", "drop_detail": row[4]}
          for row in rows if row[4] is not None),
        *(record for row, answered in zip(asked, answers, strict=True) for record in _candidates(row[0], answered)),
    ]  # fmt: skip
    made = [{"extractor": extractor.name, **record} for record in records]
    return pa.Table.from_pylist(made, schema=COLUMNS)


def numbered(turns: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """Return messages as a model is shown them, with their index from 0."""
    return [message.shown for message in as_window(turns)]


def _smaller(part: Part, status: str) -> list[Part]:
    if status not in SPLIT:
        return []
    return [replace(part, window=half) for half in halves_of(part.window, cuts_message=status == "too_long")]


def _candidates(dialogue_id: str, answered: Answered) -> Iterator[dict[str, Any]]:
    for number, (_, outcome) in enumerate(answered, 1):
        if outcome.answer is None:
            detail = part_of(number, len(answered), outcome.detail)
            yield {"dialogue_id": dialogue_id, "drop_reason": outcome.status, "drop_detail": detail}
            return
    items = merged([outcome.answer.memory_items for _, outcome in answered if outcome.answer])
    if not items:
        yield {"dialogue_id": dialogue_id, "drop_reason": "no_memories"}
    for number, item in enumerate(items):
        candidate_id = "c" + digest(dialogue_id, number)[:16]
        yield {"candidate_id": candidate_id, "dialogue_id": dialogue_id, "number": number, **item.model_dump()}
