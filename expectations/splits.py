"""What the table `splits` promises."""

from expectations.columns import SPLITS, an_id, user_id
from expectations.contract import Column, Contract, Rule

ROLES = ("held_out_bank", "public_bank", "any", "extraction", "memory", "retrieval", "utilization")
CONTRACT = Contract(
    about="a user with memories: the group that it is bound to, and what the group serves",
    columns=(
        user_id(unique=True),
        an_id("group_id", "g", "Users joined by near-duplicates."),
        Column("split", values=("bank", *SPLITS), about="bank: its memories are distractors and nothing else."),
        Column("role", values=ROLES, about="The tracks that the group serves."),
        Column("memories", "INTEGER", between=(0, None), about="Memories about the user, near-duplicates left out."),
    ),
    rules=(
        Rule("a group is in one split, with one role",
             "select group_id from splits group by group_id having count(distinct split || role) > 1"),
    ),
)  # fmt: skip
