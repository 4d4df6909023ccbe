"""The items of task 3: a query, the memory that answers it, and distractors out of the bank."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from stages.beside import beside
from stages.draws import digest
from stages.fair_draws import Pool, fair_lengths, fair_places, first_fair
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
        ("places", pa.list_(pa.int32())),
        ("drop_reason", pa.string()),
        ("drop_detail", pa.string()),
    ]
)
BANK = """
    select memory_id, label, length(value)
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
    `places` says where the target stands in each of the pools.
    """
    bank = db.execute(BANK).fetchall()
    lengths = {memory_id: length for memory_id, _, length in bank}
    names = [name for name in COLUMNS.names if name not in ("distractor_ids", "places")]
    records = [dict(zip([*names, "label", "length"], row, strict=True)) for row in db.execute(SQL).fetchall()]
    kept: list[dict[str, Any]] = [record for record in records if record["drop_reason"] is None]

    def draw(attempt: int) -> list[list[str]]:
        return [distractors_of(record, bank, distractors, attempt) for record in kept]

    def is_fair(pools: list[list[str]]) -> bool:
        found = [(record["length"], [lengths[one] for one in pool]) for record, pool in zip(kept, pools, strict=True)]
        return all(fair_lengths([(right, others[:size]) for right, others in found]) for size in distractors)

    for record, pool in zip(kept, first_fair(draw, is_fair), strict=True):
        record["distractor_ids"], record["places"] = pool, []
    for size in distractors:
        places = fair_places([Pool(pool_key(record["item_id"], size), size + 1) for record in kept])
        for record, place in zip(kept, places, strict=True):
            record["places"].append(place)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def pool_key(item_id: str, size: int) -> str:
    """Return what the ids of one item's pool of one size are made from."""
    return f"{item_id}|{size}"


def distractors_of(
    target: Mapping[str, Any], bank: Sequence[tuple[str, str, int]], sizes: Sequence[int], attempt: int = 0
) -> list[str]:
    """Draw the distractors of one target in pool order, as many as the largest of `sizes`."""
    drawn = sorted(bank, key=lambda memory: digest("distractor", attempt, target["target_id"], memory[0]))
    first, rest = drawn[: min(sizes)], drawn[min(sizes) :]
    if not any(label == target["label"] for _, label, _ in first):
        same = next((memory for memory in rest if memory[1] == target["label"]), None)
        if same:
            rest.remove(same)
            rest.insert(0, first[-1])
            first[-1] = same
    return [memory_id for memory_id, *_ in [*first, *rest][: max(sizes)]]
