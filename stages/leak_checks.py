"""What each check says of each query that made it into an item."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from evaluation.leaks import Limits, lexical_leak
from llm.gateway import Model, Outcome, Prompt, Request
from stages.beside import beside
from warehouse import Warehouse

PROMPT = Prompt("leak_checks", beside(__file__, ".prompt.md"))
COLUMNS = pa.schema(
    [
        ("item_id", pa.string()),
        ("check", pa.string()),
        ("verdict", pa.string()),
        ("evidence", pa.string()),
        ("checked_by", pa.string()),
    ]
)
ITEMS = """
    select item_id, query, struct_pack(
        memory_id := memory_id, label := memories.label, value := value, evidence_text := evidence_text,
        language := coalesce(memories.language, ''))
    from (
        select item_id, query, memory_id from retrieval_items
        union all
        select item_id, query, memory_id from utilization_items
    )
    join memories using (memory_id)
    order by item_id
"""


class Audit(BaseModel):
    """Whether a query gives its memory away, and by which of its words."""

    leaks: bool
    quote: str | None
    reason: str


def leak_checks(db: Warehouse, *, auditor: Model, limits: Limits) -> pa.Table:
    """One row an item and check: `lexical`, and `auditor`, whose verdict counts only if it quotes the query.

    Verdicts: passed, leaks, or not_measured.
    """
    rows = db.execute(ITEMS).fetchall()
    requests = [Request(item, {"query": query, "memory": memory}) for item, query, memory in rows]
    outcomes = auditor.ask(PROMPT, requests, Audit)
    records: list[dict[str, Any]] = []
    for (item_id, query, memory), outcome in zip(rows, outcomes, strict=True):
        audited = {"check": "auditor", "checked_by": auditor.name, **_audited(query, outcome)}
        for check in (*_lexical(query, memory, limits), audited):
            records.append({"item_id": item_id, **check})
    return pa.Table.from_pylist(records, schema=COLUMNS)


def _lexical(query: str, memory: Mapping[str, str], limits: Limits) -> Iterator[dict[str, str | None]]:
    leak = lexical_leak(query, memory["value"], memory["evidence_text"], memory["language"], limits)
    yield {
        "check": "lexical",
        "verdict": "leaks" if leak.leaks else "passed",
        "evidence": " ".join(leak.words) or None,
        "checked_by": "shared words",
    }


def _audited(query: str, outcome: Outcome[Audit]) -> dict[str, str | None]:
    audit = outcome.answer
    if audit is None:
        return {"verdict": "not_measured", "evidence": outcome.status}
    if not audit.leaks:
        return {"verdict": "passed", "evidence": None}
    if not audit.quote or not audit.quote.strip() or audit.quote not in query:
        return {"verdict": "not_measured", "evidence": "the quotation does not stand in the query"}
    return {"verdict": "leaks", "evidence": audit.quote}
