"""The items of task 3: a query, the memory that answers it, and distractors out of the bank."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from stages.beside import beside
from stages.draws import digest
from stages.item import Item
from warehouse import Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("targets", "target_id", "kind = 'retrieval'")
COLUMNS = pa.schema(
    [
        ("item_id", pa.string()),
        ("target_id", pa.string()),
        ("user_id", pa.string()),
        ("split", pa.string()),
        ("memory_id", pa.string()),
        ("query", pa.string()),
        ("distractor_ids", pa.list_(pa.string())),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)
BANK = """
    select memory_id, label
    from memories
    join splits using (user_id)
    left join duplicate_memories on member_id = memory_id
    where split = 'bank' and context = 'self' and member_id is null
    order by memory_id
"""


def retrieval_items(db: Warehouse, *, distractors: Sequence[int]) -> pa.Table:
    """One row an item, with the distractors of its largest pool; a smaller pool is the first of them.

    The order is by hash; among the first `min(distractors)` stands one of the target's own label, where the
    bank holds one. Near-duplicates are kept out: of what is nearly the same only one memory is left.
    """
    bank = db.execute(BANK).fetchall()
    columns = [name for name in COLUMNS.names if name != "distractor_ids"]
    records = []
    for row in db.execute(SQL).fetchall():
        record: dict[str, Any] = dict(zip([*columns, "label"], row, strict=True))
        if record["drop_reason"] is None:
            record["distractor_ids"] = distractors_of(record, bank, distractors)
        records.append(record)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def distractors_of(
    target: Mapping[str, Any], bank: Sequence[tuple[str, str]], sizes: Sequence[int]
) -> list[str]:
    """Draw the distractors of one target in pool order, as many as the largest of `sizes`."""
    drawn = sorted(bank, key=lambda memory: digest("distractor", target["target_id"], memory[0]))
    first, rest = drawn[: min(sizes)], drawn[min(sizes) :]
    if not any(label == target["label"] for _, label in first):
        same = next((memory for memory in rest if memory[1] == target["label"]), None)
        if same:
            rest.remove(same)
            rest.insert(0, first[-1])
            first[-1] = same
    return [memory_id for memory_id, _ in [*first, *rest][: max(sizes)]]
