"""What the table `utilization_items` promises."""

from expectations.columns import KINDS, dialogue_id, item_id, memory_id, split, target_id, user_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="an item of task 4",
    columns=(
        item_id(unique=True),
        target_id(unique=True),
        user_id(),
        split(),
        Column("ability", values=KINDS[3:], about="The ability that is tested."),
        dialogue_id(),
        memory_id(),
        Column("query", about="What the user asks."),
        Column("reference_answer", about="An answer that uses the memory well."),
        Column("rubric", about="How to tell a good answer."),
    ),
)
