"""What the table `users` promises."""

from expectations.columns import language, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a user with at least one dialogue; rows of the source that repeat another count once",
    columns=(
        user_id(unique=True),
        Column("user_known", "BOOLEAN", about="Whether the source names the user; else the conversation is one."),
        Column("conversations", "INTEGER", between=(1, None), about="All conversations of the user."),
        Column("dialogues", "INTEGER", between=(1, None), about="Those that were kept."),
        Column("messages", "INTEGER", between=(1, None), about="Messages in all conversations."),
        Column("countries", "INTEGER", between=(0, None), about="Different countries that the source names."),
        Column("languages", "INTEGER", between=(0, None), about="Different languages of the conversations."),
        Column("first_seen", "TIMESTAMP WITH TIME ZONE", null=True, about="End of the first conversation."),
        Column("last_seen", "TIMESTAMP WITH TIME ZONE", null=True, about="End of the last one."),
        language(),
    ),
    rules=(
        Rule(
            "no more dialogues than conversations",
            "select user_id from users where dialogues > conversations",
        ),
        Rule(
            "no more countries or languages than conversations",
            "select user_id from users where greatest(countries, languages) > conversations",
        ),
    ),
)
