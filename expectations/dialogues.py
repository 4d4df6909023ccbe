"""What the table `dialogues` promises."""

from expectations.columns import MESSAGES, dialogue_id, language, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a conversation that is wanted and of the right length, with its text",
    columns=(
        dialogue_id(unique=True),
        user_id(),
        Column("user_known", "BOOLEAN", about="Whether the source names the user; else the conversation is one."),
        Column("conversation_hash", about="The source's own key."),
        Column("source_schema", about="The published schema that the row has."),
        language(),
        Column("ended_at", "TIMESTAMP WITH TIME ZONE", null=True, about="Time of the last message."),
        Column("messages", "INTEGER", between=(1, None), about="Number of messages."),
        Column("rounds", "INTEGER", between=(0, None), about="Number of the user's messages."),
        Column("turns", MESSAGES, about="The messages in order, control characters taken out."),
        Column("source_row", unique=True, about="Shard and row of the source."),
    ),
    rules=(
        # One rule and not three, since each reads every text.
        Rule(
            "as many turns as messages, each with a role and a text",
            """
            select dialogue_id from dialogues
            where len(turns) <> messages or list_contains(list_transform(
                turns, lambda m: coalesce(m.role in ('user', 'assistant'), false) and m."text" is not null
            ), false)
            """,
        ),
    ),
)
