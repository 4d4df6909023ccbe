"""What the table `conversations` promises."""

from expectations.columns import dialogue_id, language, user_id
from expectations.contract import Column, Contract, Rule
from stages.source_layout import OF_1M, OF_4_8M, V1

CONTRACT = Contract(
    about="a conversation of the source; its text stays there",
    columns=(
        dialogue_id(),
        user_id(),
        Column("user_known", "BOOLEAN", about="Whether the source names the user; else the conversation is one."),
        Column("conversation_hash", about="The source's own key; it repeats there."),
        Column("chat_model", null=True, about="The assistant's model."),
        Column("ended_at", "TIMESTAMP WITH TIME ZONE", null=True, about="Time of the last message."),
        language(),
        Column("language_detected", "BOOLEAN", about="Whether the source named no language."),
        Column("country", null=True, empty=True, about="The user's country as the source has it."),
        Column("toxic", "BOOLEAN", null=True, about="The source's verdict."),
        Column("redacted", "BOOLEAN", null=True, about="Whether the source took personal data out."),
        Column("messages", "INTEGER", between=(1, None), about="Number of messages."),
        Column("rounds", "INTEGER", between=(0, None), about="Number of the user's messages."),
        Column("source_schema", values=(V1, OF_1M, OF_4_8M), about="The published schema that the row has."),
        Column("shard", about="The file of the source."),
        Column("row", "BIGINT", between=(0, None), about="The row or line in it, from 0."),
        Column("source_row", unique=True, about="Shard and row in one."),
    ),
    rules=(
        Rule("no more rounds than messages", "select source_row from conversations where rounds > messages"),
        Rule(
            "unknown users in the first schema alone",
            "select source_row from conversations where not user_known and source_schema <> 'wildchat_v1'",
        ),
    ),
)
