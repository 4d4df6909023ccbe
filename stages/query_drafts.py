"""Queries as they were written, each checked for leaks and written again while it leaks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from evaluation.leaks import Limits, lexical_leak
from llm.gateway import Model, Prompt, Request
from stages.beside import beside
from stages.item import Item
from warehouse import Warehouse

PROMPT = Prompt("query_drafts", beside(__file__, ".prompt.md"))
ITEM = Item("targets", "target_id", "kind not in ('extraction', 'update')")
COLUMNS = pa.schema(
    [
        ("target_id", pa.string()),
        ("attempt", pa.int32()),
        ("query", pa.string()),
        ("reference_answer", pa.string()),
        ("rubric", pa.string()),
        ("shared_words", pa.list_(pa.string())),
        ("leak_share", pa.float64()),
        ("leaks", pa.bool_()),
        ("generator", pa.string()),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)
TARGETS = """
    select target_id, kind, struct_pack(
        memory_id := memory_id, type := memories.type, label := memories.label, value := value,
        confidence := memories.confidence, evidence_text := evidence_text, emotion := emotion,
        context := context, language := coalesce(memories.language, ''))
    from targets
    join memories using (memory_id)
    where kind not in ('extraction', 'update')
    order by target_id
"""


class QueryDraft(BaseModel):
    """A query with the answer that is hoped for and how to rate one."""

    query: str
    reference_answer: str
    rubric: str


def query_drafts(db: Warehouse, *, generator: Model, rewrites: int, limits: Limits) -> pa.Table:
    """One row a draft. A draft that leaks goes back with the words found, up to `rewrites` times.

    The last draft of a target is the one to use, unless it leaks too.
    """
    open_targets = [
        {"target_id": target_id, "kind": kind, "memory": memory, "finding": []}
        for target_id, kind, memory in db.execute(TARGETS).fetchall()
    ]
    records: list[dict[str, Any]] = []
    for attempt in range(rewrites + 1):
        drafts = list(_drafts(open_targets, attempt, generator, limits))
        records += drafts
        again = {draft["target_id"]: draft["shared_words"] for draft in drafts if draft.get("leaks")}
        open_targets = [
            {**target, "finding": again[target["target_id"]]} for target in open_targets if target["target_id"] in again
        ]
    return pa.Table.from_pylist(sorted(records, key=_place), schema=COLUMNS)


def _place(record: Mapping[str, Any]) -> tuple[str, int]:
    return record["target_id"], record["attempt"]


def _drafts(
    targets: Sequence[Mapping[str, Any]], attempt: int, generator: Model, limits: Limits
) -> Iterator[dict[str, Any]]:
    requests = [
        Request(
            target["memory"]["memory_id"],
            {
                "ability": target["kind"],
                "memory": target["memory"],
                "attempt": attempt,
                "finding": target["finding"],
            },
        )
        for target in targets
    ]
    for target, outcome in zip(targets, generator.ask(PROMPT, requests, QueryDraft), strict=True):
        record = {"target_id": target["target_id"], "attempt": attempt, "generator": generator.name}
        if outcome.answer is None:
            yield {**record, "drop_reason": outcome.status, "drop_detail": outcome.detail}
            continue
        memory, draft = target["memory"], outcome.answer
        if not all(text.strip() for text in draft.model_dump().values()):
            yield {**record, "drop_reason": "empty_draft"}
            continue
        leak = lexical_leak(draft.query, memory["value"], memory["evidence_text"], memory["language"], limits)
        checked = {"shared_words": list(leak.words), "leak_share": leak.share, "leaks": leak.leaks}
        yield {**record, **draft.model_dump(), **checked}
