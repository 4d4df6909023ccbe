"""The rules on the pools of task 3, each broken once."""

import pytest

from expectations.contract import contract_of
from expectations.violations import count_violations

SPLITS = """
    user_id | group_id | split | role          | memories::integer
    -
    ua      | g1       | test  | retrieval     | 1
    ub      | g2       | test  | retrieval     | 2
    uc      | g3       | bank  | held_out_bank | 2
    ud      | g4       | dev   | any           | 1
    ue      | g5       | bank  | public_bank   | 2
"""
MEMORIES = """
    memory_id | user_id
    -
    ma        | ua
    mb        | ub
    mb2       | ub
    mc        | uc
    mc2       | uc
    md        | ud
    me        | ue
    me2       | ue
"""
ITEMS = """
    item_id | target_id | user_id | split | memory_id | query | distractor_ids::varchar[] | places::integer[]
    -
    ia      | ta        | ua      | test  | ma        | What? | [{0}]                     | [1]
    ib      | tb        | ub      | test  | mb        | What? | [ma, mc]                  | [0]
    id      | td        | ud      | dev   | md        | What? | [{1}]                     | [2]
"""


@pytest.mark.parametrize(
    ("held_out", "public", "users", "broken"),
    [
        ("mb, mc", "me, me2", "", {}),
        ("mb, mc", "me, mc2", "", {}),
        ("mb, mc", "me, mc", "", {"no distractor of a held-out pool stands in a public one": 1}),
        ("mb, mc", "mc, ma", "", {"no distractor of a held-out pool stands in a public one": 2}),
        ("mb, ma", "me, me2", "", {"no memory of the target's own group": 1}),
        ("mc, mc2", "me, me2", "g1", {"no memory of the target's own group": 1}),
        ("mb, mc", "me, me2", "g1", {"no memory of the target's own group": 2}),
        ("mc, mc", "me, me2", "", {"no distractor twice": 1}),
        ("mb, mc", "me", "", {"all pools are of one size": 1}),
    ],
)
def test_a_rule_counts_the_pools_that_break_it(given, held_out, public, users, broken):
    """`users` is the group of `ub` where it is not its own."""
    splits = SPLITS.replace("ub      | g2 ", f"ub      | {users or 'g2'} ")
    db = given(splits=splits, memories=MEMORIES, retrieval_items=ITEMS.format(held_out, public))

    contract = contract_of("retrieval_items")
    _, subjects = count_violations(db, "retrieval_items", contract, name="retrieval_items")

    rules = {rule.name for rule in contract.rules}
    found = {one.name.removeprefix("rule "): one.count for one in subjects if one.violations}
    assert {name: count for name, count in found.items() if name in rules} == broken
    assert rules <= {one.name.removeprefix("rule ") for one in subjects}


@pytest.mark.parametrize(
    ("role", "is_known"),
    [("held_out_bank", True), ("public_bank", True), ("utilization", True), ("bank", False), ("test", False)],
)
def test_a_role_is_one_of_those_there_are(given, role, is_known):
    db = given(splits=SPLITS.replace("retrieval    ", role))

    _, subjects = count_violations(db, "splits", contract_of("splits"), name="splits")

    [column] = [one for one in subjects if one.name == "column role"]
    assert (column.count == 0) is is_known
