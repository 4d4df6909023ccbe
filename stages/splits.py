"""Which users serve what: the bank of distractors, and the splits of the benchmark."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stages.draws import share
from stages.item import Item
from warehouse import BadInputError, Warehouse

ITEM = Item("users", "user_id")
BANK = "bank"
HELD_OUT = "test"
HELD_OUT_BANK, PUBLIC_BANK = "held_out_bank", "public_bank"
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
        count(memory_id) filter (context = 'self' and duplicate_memories.member_id is null) as distractors,
        count(gold_memories.memory_id) as gold,
        count(memory_id) as memories
    from users
    left join memories using (user_id)
    left join duplicate_memories on duplicate_memories.member_id = memory_id
    left join gold_memories using (memory_id)
    group by user_id
    order by user_id
"""
PAIRS = """
    select member_user_id, unnest(like_user_ids) from duplicate_dialogues
    union all
    select member_user_id, unnest(like_user_ids) from duplicate_memories
"""


class Group(NamedTuple):
    """Users that are bound to one split, the memories that may be distractors, and the gold ones."""

    group_id: str
    users: Sequence[str]
    distractors: int
    gold: int


def splits(
    db: Warehouse, *, shares: Mapping[str, float], test_roles: Mapping[str, float], bank_memories: int
) -> pa.Table:
    """One row a user with memories: the group it is bound to, and the group's split and role.

    Users with near-duplicate dialogues or memories are one group. A bank of `bank_memories` distractors for
    held-out pools is set apart: groups without gold first, then by hash. The others are drawn into the splits of
    `shares`, and in the held-out split into one of `test_roles`, so that what one track shows is no other's gold.
    Public splits draw their distractors from one another, and from a bank of their own where they have too few: no
    distractor of a held-out pool stands in a public split, else the gold would be the one that does not.

    Raises:
        BadInputError: there are not enough memories for this.
    """
    rows = db.execute(USERS).fetchall()
    groups = _groups({user: tuple(counts) for user, *counts in rows}, db.execute(PAIRS).fetchall())
    in_order = sorted(groups, key=lambda group: (group.gold > 0, share("bank", group.group_id)))
    bank = _fill(in_order, bank_memories)
    rest = [group for group in in_order if group.group_id not in bank]
    drawn = {group.group_id: _drawn("split", group.group_id, shares) for group in rest}
    public = sum(group.distractors for group in rest if drawn[group.group_id] != HELD_OUT)
    held_out = [group for group in rest if drawn[group.group_id] == HELD_OUT]
    public_bank = _fill(held_out, bank_memories - public)
    placed = {
        **{group_id: (split, _role(group_id, split, test_roles)) for group_id, split in drawn.items()},
        **dict.fromkeys(bank, (BANK, HELD_OUT_BANK)),
        **dict.fromkeys(public_bank, (BANK, PUBLIC_BANK)),
    }
    if not any(group.gold and placed[group.group_id][0] == HELD_OUT for group in groups):
        raise BadInputError(
            f"two banks of {bank_memories} distractors leave nobody for the test split: lower retrieval.distractors"
        )
    counts = {user: (distractors, memories) for user, distractors, _, memories in rows}
    return pa.Table.from_pylist(sorted(_rows(groups, placed, counts), key=_user), schema=COLUMNS)


def _user(row: Mapping[str, Any]) -> str:
    return str(row["user_id"])


def _rows(
    groups: Sequence[Group], placed: Mapping[str, tuple[str, str]], counts: Mapping[str, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    for group in groups:
        split, role = placed[group.group_id]
        for user in group.users:
            distractors, memories = counts[user]
            yield {
                "user_id": user,
                "group_id": group.group_id,
                "split": split,
                "role": role,
                "memories": distractors,
                "drop_reason": None if memories else "no_memory",
            }


def _groups(users: Mapping[str, tuple[int, ...]], pairs: Sequence[tuple[str, str]]) -> list[Group]:
    place = {user: position for position, user in enumerate(users)}
    ends = np.array([(place[one], place[other]) for one, other in pairs], dtype=int).reshape(-1, 2)
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(users), len(users)))
    _, components = connected_components(links, directed=False)
    members: dict[int, list[str]] = defaultdict(list)
    for user, component in zip(users, components.tolist(), strict=True):
        members[component].append(user)
    return [
        Group("g" + min(found)[1:], found, sum(users[one][0] for one in found), sum(users[one][1] for one in found))
        for found in members.values()
    ]


def _fill(groups: Sequence[Group], wanted: int) -> set[str]:
    """Take groups in their order until they hold the distractors wanted; one without any is of no use here."""
    taken: set[str] = set()
    held = 0
    for group in groups:
        if held >= wanted:
            return taken
        if group.distractors:
            taken.add(group.group_id)
            held += group.distractors
    if held < wanted:
        raise BadInputError(
            f"a bank of distractors needs {wanted} memories and all users that it could have together have {held}: "
            "lower retrieval.distractors"
        )
    return taken


def _drawn(purpose: str, group_id: str, shares: Mapping[str, float]) -> str:
    drawn, upto = share(purpose, group_id), 0.0
    for name, part in shares.items():
        upto += part
        if drawn < upto:
            return name
    return list(shares)[-1]


def _role(group_id: str, split: str, test_roles: Mapping[str, float]) -> str:
    return _drawn("role", group_id, test_roles) if split == HELD_OUT else "any"
