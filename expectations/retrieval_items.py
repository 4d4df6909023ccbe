"""What the table `retrieval_items` promises."""

from expectations.columns import item_id, memory_id, split, target_id, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="an item of task 3, in all its pool sizes",
    columns=(
        item_id(unique=True),
        target_id(unique=True),
        user_id(),
        split(),
        memory_id(unique=True),
        Column("query", about="What the user asks."),
        Column("distractor_ids", "VARCHAR[]", about="Memories of the bank; a smaller pool shows the first of them."),
        Column("places", "INTEGER[]", about="Where the target stands in each pool, smallest first, from 0."),
    ),
    rules=(
        Rule("no distractor twice",
             "select item_id from retrieval_items where len(list_distinct(distractor_ids)) <> len(distractor_ids)"),
        Rule("all pools are of one size",
             "select item_id from retrieval_items "
             "where len(distractor_ids) <> (select max(len(distractor_ids)) from retrieval_items)"),
        Rule("distractors come out of the bank", """
            select item_id from (select item_id, unnest(distractor_ids) as memory_id from retrieval_items)
            join memories using (memory_id) join splits using (user_id) where split <> 'bank'
        """),
    ),
)  # fmt: skip
