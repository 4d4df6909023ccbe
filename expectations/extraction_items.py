"""What the table `extraction_items` promises."""

from expectations.columns import MEMORIES, MESSAGES, dialogue_id, item_id, split, target_id, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="an item of task 1",
    columns=(
        item_id(unique=True),
        target_id(unique=True),
        user_id(),
        split(),
        dialogue_id(unique=True),
        Column("dialogue", MESSAGES, about="What a system reads."),
        Column("gold", MEMORIES, about="The memories that it should find."),
    ),
    rules=(Rule("every item has gold", "select item_id from extraction_items where len(gold) = 0"),),
)
