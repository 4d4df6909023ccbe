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
        Column("distractor_ids", "VARCHAR[]", about="Memories of others; a smaller pool shows the first of them."),
        Column("places", "INTEGER[]", about="Where the target stands in each pool, smallest first, from 0."),
    ),
    rules=(
        Rule("no distractor twice",
             "select item_id from retrieval_items where len(list_distinct(distractor_ids)) <> len(distractor_ids)"),
        Rule("all pools are of one size",
             "select item_id from retrieval_items "
             "where len(distractor_ids) <> (select max(len(distractor_ids)) from retrieval_items)"),
        Rule("no distractor of a held-out pool stands in a public one", """
            select any_value(item_id) as item_id
            from (select item_id, split, unnest(distractor_ids) as memory_id from retrieval_items)
            group by memory_id having bool_or(split = 'test') and bool_or(split <> 'test')
        """),
        Rule("no memory of the target's own group", """
            select item_id
            from (select item_id, user_id, unnest(distractor_ids) as distractor_id from retrieval_items) as pools
            join memories on memory_id = distractor_id
            join splits as target on target.user_id = pools.user_id
            join splits as other on other.user_id = memories.user_id
            where target.group_id = other.group_id
        """),
    ),
)  # fmt: skip
