"""The items of task 3: a query, the memory that answers it, and distractors of other people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from stages.beside import beside
from stages.draws import digest
from stages.fair_draws import Pool, fair_extremes, fair_places, first_fair
from stages.item import Item
from stages.near_duplicates import jaccard, shingles_of
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
    select memory_id, group_id, label, value, split = 'test' or role = 'held_out_bank' as is_held_out
    from memories
    join splits using (user_id)
    left join duplicate_memories on member_id = memory_id
    where context = 'self' and member_id is null and (split <> 'test' or role = 'retrieval')
    order by memory_id
"""


class Candidate(NamedTuple):
    """A memory that may stand in pools: those of the held-out split, or those of the public ones."""

    memory_id: str
    group_id: str
    label: str
    value: str
    is_held_out: bool


def retrieval_items(
    db: Warehouse, *, distractors: Sequence[int], shingle_characters: int, threshold: float
) -> pa.Table:
    """One row an item, with the distractors of its largest pool; a smaller pool is the first of them.

    They are drawn by hash from what no other track shows as gold: for held-out items from their bank and the users of
    other such items, for public items from the public splits. A target is a distractor in other pools as often as any
    memory, so that in how many pools it stands tells nothing. Kept out are memories of the target's own group and what
    is nearly the same as the target. Among the first `min(distractors)` stands one of the target's label, where
    there is one. `places` says where the target stands in each of the pools.
    """
    names = [name for name in COLUMNS.names if name not in ("distractor_ids", "places")]
    records = [
        dict(zip([*names, "group_id", "label", "value"], row, strict=True)) for row in db.execute(SQL).fetchall()
    ]
    bank = [Candidate(*row) for row in db.execute(BANK).fetchall()]
    shingles = {one.memory_id: shingles_of(one.value, shingle_characters) for one in bank}
    for record in records:
        found = shingles_of(record["value"], shingle_characters)
        record["bank"] = [
            one for one in bank if may_distract(record, one) and jaccard(found, shingles[one.memory_id]) < threshold
        ]
        if len(record["bank"]) < max(distractors) and record["drop_reason"] is None:
            record |= {"drop_reason": "too_few_distractors", "drop_detail": str(len(record["bank"]))}
    kept = [record for record in records if record["drop_reason"] is None]
    lengths = {one.memory_id: len(one.value) for one in bank}

    def draw(attempt: int) -> list[list[str]]:
        return [distractors_of(record, record["bank"], distractors, attempt) for record in kept]

    def is_fair(pools: list[list[str]]) -> bool:
        return all(_is_fair(kept, [pool[:size] for pool in pools], lengths) for size in distractors)

    for record, pool in zip(kept, first_fair(draw, is_fair), strict=True):
        record["distractor_ids"], record["places"] = pool, []
    for size in distractors:
        places = fair_places(
            [Pool(pool_key(record["item_id"], size), size + 1, record["split"] == "test") for record in kept]
        )
        for record, place in zip(kept, places, strict=True):
            record["places"].append(place)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def _is_fair(records: Sequence[Mapping[str, Any]], pools: Sequence[Sequence[str]], lengths: Mapping[str, int]) -> bool:
    """Say whether neither lengths nor, in how many held-out pools a memory stands tell the target."""
    both = list(zip(records, pools, strict=True))
    held_out = [(record["memory_id"], pool) for record, pool in both if record["split"] == "test"]
    times = Counter(one for target, pool in held_out for one in (target, *pool))
    return fair_extremes(
        [(len(record["value"]), [lengths[one] for one in pool]) for record, pool in both]
    ) and fair_extremes([(times[target], [times[one] for one in pool]) for target, pool in held_out])


def may_distract(target: Mapping[str, Any], candidate: Candidate) -> bool:
    """Say whether a memory may stand in the pools of a target: of the same side, and of other people."""
    is_held_out = target["split"] == "test"
    return candidate.is_held_out is is_held_out and bool(candidate.group_id != target["group_id"])


def pool_key(item_id: str, size: int) -> str:
    """Return what the ids of one item's pool of one size are made from."""
    return f"{item_id}|{size}"


def distractors_of(
    target: Mapping[str, Any], bank: Sequence[Candidate], sizes: Sequence[int], attempt: int = 0
) -> list[str]:
    """Draw the distractors of one target in pool order, as many as the largest of `sizes`."""
    drawn = sorted(bank, key=lambda memory: digest("distractor", attempt, target["target_id"], memory.memory_id))
    first, rest = drawn[: min(sizes)], drawn[min(sizes) :]
    if not any(memory.label == target["label"] for memory in first):
        same = next((memory for memory in rest if memory.label == target["label"]), None)
        if same:
            rest.remove(same)
            rest.insert(0, first[-1])
            first[-1] = same
    return [memory.memory_id for memory in [*first, *rest][: max(sizes)]]
