"""What the table `gold_memories` promises."""

from expectations.columns import MEMORY, dialogue_id, language, memory_id, user_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="a memory that the benchmark takes for true",
    columns=(
        memory_id(unique=True),
        dialogue_id(),
        user_id(),
        language(),
        *MEMORY,
        Column("verified", "BOOLEAN", about="Whether a person confirmed it."),
    ),
)
