"""What the table `query_drafts` promises."""

from expectations.columns import target_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="a query as it was written, and what its words give away",
    columns=(
        target_id(),
        Column("attempt", "INTEGER", between=(0, 10), about="0, then one more for each rewriting."),
        Column("query", about="What the user asks."),
        Column("reference_answer", about="An answer that uses the memory well."),
        Column("rubric", about="How to tell a good answer."),
        Column("shared_words", "VARCHAR[]", about="Stems that it shares with value or evidence."),
        Column("leak_share", "DOUBLE", between=(0, 1), about="Share of the value's stems that it holds."),
        Column("leaks", "BOOLEAN", about="Whether it is written again."),
        Column("generator", about="The model that wrote it."),
    ),
    unique=(("target_id", "attempt"),),
)
