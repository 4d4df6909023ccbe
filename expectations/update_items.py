"""What the table `update_items` promises."""

from expectations.columns import (
    MEMORIES,
    MESSAGES,
    dialogue_id,
    item_id,
    memory_id,
    split,
    target_id,
    user_id,
)
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="an item of task 2",
    columns=(
        item_id(unique=True),
        target_id(unique=True),
        user_id(),
        split(),
        dialogue_id(),
        memory_id(),
        Column("memory", MEMORIES, about="The state before; ids are the item's own."),
        Column("new_dialogue", MESSAGES, about="Noise, one update and one conflict."),
        Column("answer", MEMORIES, about="The state after."),
        Column("actions", 'STRUCT(memory_id VARCHAR, "action" VARCHAR)[]', about="What happened to each memory."),
        Column("generator", about="The model that wrote the dialogue."),
    ),
    rules=(
        Rule("one memory is added, none lost",
             "select item_id from update_items where len(answer) <> len(memory) + 1 or len(actions) <> len(answer)"),
        Rule(
            "one addition and one modification",
            """
            select item_id from update_items
            where len(list_filter(actions, lambda a: a.action = 'Addition')) <> 1
                or len(list_filter(actions, lambda a: a.action = 'Modification')) <> 1
            """,
        ),
        Rule(
            "evidence of what changed stands in the new dialogue",
            """
            select item_id from (
                select item_id, memory_id, unnest(answer) as after, memory, new_dialogue from update_items
            )
            where not list_contains(list_transform(memory, lambda m: m.memory_id), after.memory_id)
                and not list_bool_or(list_transform(new_dialogue,
                    lambda m: m.role = 'user' and contains(m."text", after.evidence_text)))
            """,
        ),
    ),
)  # fmt: skip
