"""What the table `memories` promises."""

from expectations.columns import CONTEXT, MEMORY, an_id, dialogue_id, language, memory_id, user_id
from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a memory that the validator let pass, in normal form, with the span of the dialogue that it rests on",
    columns=(
        memory_id(unique=True),
        an_id("candidate_id", "c", "The candidate that it was.", unique=True),
        dialogue_id(),
        user_id(),
        language(),
        *MEMORY,
        CONTEXT,
        Column("evidence_way", values=("exact", "normalised", "piece"), about="How the span was found."),
        Column("given_label", null=True, empty=True, about="The extractor's label."),
        Column("given_type", empty=True, about="The extractor's type."),
        Column("given_confidence", "DOUBLE", about="The extractor's confidence."),
        Column("validator", about="The model that checked it."),
    ),
    rules=(
        Rule("nothing indirect is as sure as 0.95",
             "select memory_id from memories where type = 'indirect' and confidence > 0.8"),
        Rule("no debris of tools", "select memory_id from memories where value ilike '%[error%'"),
        Rule(
            "the evidence stands where it is said to, in a message of the user",
            """
            select memory_id from memories
            join dialogues using (dialogue_id)
            where turns[evidence_message + 1].role <> 'user'
                or substring(turns[evidence_message + 1]."text", evidence_start + 1, evidence_end - evidence_start)
                    <> evidence_text
            """,
        ),
    ),
)  # fmt: skip
