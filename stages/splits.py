"""Which users serve what: the bank of distractors, and the splits of the benchmark."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stages.draws import share
from stages.item import Item
from warehouse import BadInputError, Warehouse

ITEM = Item("users", "user_id")
BANK = "bank"
COLUMNS = pa.schema(
    [
        ("user_id", pa.string()),
        ("group_id", pa.string()),
        ("split", pa.string()),
        ("role", pa.string()),
        ("memories", pa.int32()),
        ("drop_reason", pa.string()),
    ]
)
USERS = """
    select
        user_id,
        count(memory_id) filter (context = 'self' and duplicate_memories.member_id is null) as memories,
        count(gold_memories.memory_id) as gold
    from users
    left join memories using (user_id)
    left join duplicate_memories on duplicate_memories.member_id = memory_id
    left join gold_memories using (memory_id)
    group by user_id
    order by user_id
"""
PAIRS = """
    select kept_user_id, member_user_id from duplicate_dialogues
    union all
    select kept_user_id, member_user_id from duplicate_memories
"""


def splits(db: Warehouse, *, shares: Mapping[str, float], extraction_share: float, bank_memories: int) -> pa.Table:
    """One row a user with memories: the group it is bound to, and the group's split and role.

    Users with near-duplicate dialogues or memories are one group. Groups without gold memories go into the
    `bank`, then others by hash until it holds `bank_memories`. The rest is drawn into the splits of
    `shares` (which add up to 1). In the split `test` a group serves either `extraction` (task 1 and the
    abilities that show a dialogue) or `memory` (those that show memories), elsewhere both: `any`.

    Raises:
        BadInputError: the bank takes all groups, or cannot be filled.
    """
    rows = db.execute(USERS).fetchall()
    memories = {user: count for user, count, _ in rows}
    gold = {user: count for user, _, count in rows}
    groups = _groups(list(memories), db.execute(PAIRS).fetchall())
    bank = _bank(groups, memories, gold, bank_memories)
    placed: list[dict[str, Any]] = []
    for group_id, users in groups.items():
        split = BANK if group_id in bank else _split(group_id, shares)
        role = BANK if group_id in bank else _role(group_id, split, extraction_share)
        for user in users:
            reason = None if memories[user] or gold[user] else "no_memory"
            placed.append(
                {
                    "user_id": user,
                    "group_id": group_id,
                    "split": split,
                    "role": role,
                    "memories": memories[user],
                    "drop_reason": reason,
                }
            )
    return pa.Table.from_pylist(sorted(placed, key=lambda row: row["user_id"]), schema=COLUMNS)


def _groups(users: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    place = {user: position for position, user in enumerate(users)}
    ends = np.array([(place[one], place[other]) for one, other in pairs], dtype=int).reshape(-1, 2)
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(users), len(users)))
    _, components = connected_components(links, directed=False)
    groups: dict[int, list[str]] = defaultdict(list)
    for user, component in zip(users, components.tolist(), strict=True):
        groups[component].append(user)
    return {"g" + min(members)[1:]: members for members in groups.values()}


def _bank(
    groups: Mapping[str, Sequence[str]], memories: Mapping[str, int], gold: Mapping[str, int], wanted: int
) -> set[str]:
    """Groups without gold first, then by hash, until the bank holds what is wanted."""
    bank, held = set(), 0
    for group_id in _in_bank_order(groups, gold):
        if held >= wanted and any(gold[user] for user in groups[group_id]):
            break
        bank.add(group_id)
        held += sum(memories[user] for user in groups[group_id])
    if held < wanted:
        raise BadInputError(
            f"the bank of distractors needs {wanted} memories and all users together have {held}: "
            "lower retrieval.distractors"
        )
    if len(bank) == len(groups):
        raise BadInputError(
            f"the bank of distractors takes every user to hold {wanted} memories: lower retrieval.distractors"
        )
    return bank


def _in_bank_order(groups: Mapping[str, Sequence[str]], gold: Mapping[str, int]) -> Iterator[str]:
    def order(group_id: str) -> tuple[bool, float]:
        return any(gold[user] for user in groups[group_id]), share("bank", group_id)

    return iter(sorted(groups, key=order))


def _split(group_id: str, shares: Mapping[str, float]) -> str:
    drawn, upto = share("split", group_id), 0.0
    for split, part in shares.items():
        upto += part
        if drawn < upto:
            return split
    return list(shares)[-1]


def _role(group_id: str, split: str, extraction_share: float) -> str:
    if split != "test":
        return "any"
    return "extraction" if share("role", group_id) < extraction_share else "memory"
