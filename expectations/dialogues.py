"""What the table `dialogues` promises."""

from expectations.columns import MESSAGES, dialogue_id, language, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a conversation of the right length, with its text",
    columns=(
        dialogue_id(unique=True),
        user_id(),
        Column("conversation_hash", about="The source's own key."),
        language(),
        Column("ended_at", "TIMESTAMP WITH TIME ZONE", null=True, about="Time of the last message."),
        Column("messages", "INTEGER", between=(1, None), about="Number of messages."),
        Column("rounds", "INTEGER", between=(0, None), about="Number of the user's messages."),
        Column("turns", MESSAGES, about="The messages in order, control characters taken out."),
        Column("source_row", unique=True, about="Shard and row of the source."),
    ),
    rules=(
        Rule("as many turns as messages", "select dialogue_id from dialogues where len(turns) <> messages"),
        Rule(
            "every message has a role and a text",
            """
            select dialogue_id from dialogues
            where list_bool_or(list_transform(turns, lambda m: m.role not in ('user', 'assistant') or m."text" is null))
            """,
        ),
    ),
)
