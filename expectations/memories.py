"""What the table `memories` promises."""

from dataclasses import replace

from expectations.columns import CONTEXT, MEMORY, an_id, dialogue_id, language, memory_id, user_id
from expectations.contract import Column, Contract, Rule

WAYS = ("exact", "normalised", "piece", "neighbours", "fuzzy", "assistant", "not_found")
CHANGES = "STRUCT(field VARCHAR, changed_by VARCHAR, given VARCHAR, taken VARCHAR)[]"

CONTRACT = Contract(
    about="a memory that the validator let pass, in normal form, with the span of the dialogue that it rests on",
    columns=(
        memory_id(unique=True),
        an_id("candidate_id", "c", "The candidate that it was.", unique=True),
        dialogue_id(),
        user_id(),
        language(),
        # A recipe may keep memories without evidence, as weak ones.
        *(replace(one, null=True) if one.name.startswith("evidence_") else one for one in MEMORY),
        CONTEXT,
        Column(
            "evidence_way",
            values=WAYS,
            about="How the span was found; `assistant` and `not_found`: the user did not say it.",
        ),
        Column("given_label", null=True, empty=True, about="The extractor's label."),
        Column("given_type", empty=True, about="The extractor's type."),
        Column("given_confidence", "DOUBLE", about="The extractor's confidence."),
        Column("validator", about="The model that checked it."),
        Column(
            "changes",
            CHANGES,
            about="What the validator changed of type, label, value and confidence, then what normal form did.",
        ),
    ),
    rules=(
        Rule("nothing indirect is as sure as 0.95",
             "select memory_id from memories where type = 'indirect' and confidence > 0.8"),
        Rule("no debris of tools",
             r"select memory_id from memories where regexp_matches(value, '[\[【]\s*error', 'i')"),
        Rule("what the user did not say is weak",
             "select memory_id from memories where evidence_way in ('assistant', 'not_found') and confidence > 0.5"),
        Rule(
            "evidence is there if and only if it was found",
            """
            select memory_id from memories
            where (evidence_way = 'not_found') is distinct from (evidence_text is null)
                or (evidence_text is null) is distinct from (evidence_message is null)
                or (evidence_text is null) is distinct from (evidence_start is null)
                or (evidence_text is null) is distinct from (evidence_end is null)
            """,
        ),
        Rule(
            "the evidence stands where it is said to, in a message of the user unless its way says otherwise",
            """
            select memory_id from memories
            join dialogues using (dialogue_id)
            where evidence_way <> 'not_found'
                and ((turns[evidence_message + 1].role = 'user') is distinct from (evidence_way <> 'assistant')
                    or substring(turns[evidence_message + 1]."text", evidence_start + 1, evidence_end - evidence_start)
                        is distinct from evidence_text)
            """,
        ),
        Rule(
            "what is not as the extractor gave it stands among the changes",
            """
            select memory_id
            from (select *, [change.field for change in changes] as changed from memories)
            where (type <> given_type and not list_contains(changed, 'type'))
                or (label is distinct from given_label and not list_contains(changed, 'label'))
                or (confidence <> given_confidence and not list_contains(changed, 'confidence'))
            """,
        ),
    ),
)  # fmt: skip
