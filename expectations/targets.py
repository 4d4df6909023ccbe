"""What the table `targets` promises."""

from expectations.columns import KINDS, dialogue_id, memory_id, split, target_id, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="what an item is about",
    columns=(
        target_id(unique=True),
        Column("kind", values=KINDS, about="A task, or an ability of task 4."),
        dialogue_id(),
        memory_id(null=True),
        user_id(),
        split(),
        Column("label", null=True, about="The label of the memory."),
    ),
    rules=(
        Rule("all but extraction have a memory",
             "select target_id from targets where (kind = 'extraction') <> (memory_id is null)"),
    ),
)  # fmt: skip
