"""What the table `sample_memories` promises."""

from expectations.columns import dialogue_id, memory_id, user_id
from expectations.contract import Column, Contract, Rule
from stages.taxonomy import LABELS, TYPES, UNMAPPED

CONTRACT = Contract(
    about="a memory that was chosen, and the sample that it belongs to",
    columns=(
        memory_id(unique=True),
        dialogue_id(),
        user_id(),
        Column("sample_rank", "INTEGER", between=(1, None), about="Place of its sample in the selection, from 1."),
        Column("label", values=(*LABELS, UNMAPPED), about="Its label."),
        Column("type", values=TYPES, about="Said by the user, or implied."),
    ),
    rules=(
        Rule("a rank is one dialogue's",
             "select sample_rank from sample_memories group by sample_rank having count(distinct dialogue_id) > 1"),
    ),
)  # fmt: skip
