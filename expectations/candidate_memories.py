"""What the table `candidate_memories` promises."""

from expectations.columns import an_id, dialogue_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="a memory as the extractor wrote it",
    columns=(
        an_id("candidate_id", "c", "The candidate; from dialogue and number.", unique=True),
        dialogue_id(),
        Column("number", "INTEGER", between=(0, None), about="Its place in the answer, from 0."),
        Column("type", empty=True, about="As written."),
        Column("label", null=True, empty=True, about="As written."),
        Column("label_suggestion", null=True, empty=True, about="As written."),
        Column("value", empty=True, about="As written."),
        Column("confidence", "DOUBLE", about="As written."),
        Column("evidence_text", empty=True, about="As written."),
        Column("extractor", about="The model that wrote it."),
    ),
    unique=(("dialogue_id", "number"),),
)
