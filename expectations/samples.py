"""What the table `samples` promises."""

from expectations.columns import dialogue_id, language, user_id
from expectations.contract import Column, Contract, Rule
from expectations.sample_memories import DRAWN_FOR

CONTRACT = Contract(
    about="a dialogue that was chosen, with the number of its memories",
    columns=(
        Column("rank", "INTEGER", unique=True, between=(1, None), about="Place in the selection, from 1."),
        dialogue_id(unique=True),
        user_id(),
        language(),
        DRAWN_FOR,
        Column("memories", "INTEGER", between=(1, None), about="Memories chosen in it."),
        Column("implicit_memories", "INTEGER", between=(0, None), about="Those of them that are implied."),
    ),
    rules=(
        Rule(
            "no more implicit memories than memories",
            "select rank from samples where implicit_memories > memories",
        ),
        Rule("ranks have no gap", "select max(rank) from samples having max(rank) <> count(*)"),
    ),
)
