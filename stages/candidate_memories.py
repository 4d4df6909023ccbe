"""What each dialogue may tell of its user: the first, generous reading by a model."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, Field

from llm.gateway import Model, Outcome, Prompt, Request
from stages.beside import beside
from stages.draws import digest
from stages.item import Item
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
    select dialogue_id, conversation_hash, language, turns, duplicate_dialogues.kept_id
    from dialogues
    left join duplicate_dialogues on member_id = dialogue_id
    order by dialogue_id
"""


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


def candidate_memories(db: Warehouse, *, extractor: Model) -> pa.Table:
    """One row a candidate. A near-duplicate dialogue is not read, and one without an answer is dropped."""
    rows = db.execute(DIALOGUES).fetchall()
    asked = [row for row in rows if row[4] is None]
    requests = [Request(row[1], {"language": row[2], "dialogue": numbered(row[3])}) for row in asked]
    outcomes = extractor.ask(PROMPT, requests, MemoryItems)
    records = [
        *({"dialogue_id": row[0], "drop_reason": "near_duplicate_dialogue", "drop_detail": row[4]}
          for row in rows if row[4] is not None),
        *(record for row, outcome in zip(asked, outcomes, strict=True) for record in _candidates(row[0], outcome)),
    ]  # fmt: skip
    made = [{"extractor": extractor.name, **record} for record in records]
    return pa.Table.from_pylist(made, schema=COLUMNS)


def numbered(turns: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return messages as a model is shown them, with their index from 0."""
    return [{"index": index, **message} for index, message in enumerate(turns)]


def _candidates(dialogue_id: str, outcome: Outcome[MemoryItems]) -> Iterator[dict[str, Any]]:
    if outcome.answer is None:
        yield {"dialogue_id": dialogue_id, "drop_reason": outcome.status, "drop_detail": outcome.detail}
    elif not outcome.answer.memory_items:
        yield {"dialogue_id": dialogue_id, "drop_reason": "no_memories"}
    else:
        for number, item in enumerate(outcome.answer.memory_items):
            candidate_id = "c" + digest(dialogue_id, number)[:16]
            yield {
                "candidate_id": candidate_id,
                "dialogue_id": dialogue_id,
                "number": number,
                **item.model_dump(),
            }
