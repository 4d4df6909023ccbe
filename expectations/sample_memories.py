"""What the table `sample_memories` promises."""

from expectations.columns import dialogue_id, memory_id, user_id
from expectations.contract import Column, Contract, Rule
from stages.taxonomy import LABELS, TYPES, UNMAPPED

DRAWN_FOR = Column(
    "drawn_for",
    values=("floor", "implicit", "any"),
    about="Why its sample was drawn: for the floor of a label, for an implicit memory, or for any.",
)
CONTRACT = Contract(
    about="a memory that was chosen, and the sample that it belongs to",
    columns=(
        memory_id(unique=True),
        dialogue_id(),
        user_id(),
        Column("sample_rank", "INTEGER", between=(1, None), about="Place of its sample in the selection, from 1."),
        DRAWN_FOR,
        Column("label", values=(*LABELS, UNMAPPED), about="Its label."),
        Column("type", values=TYPES, about="Said by the user, or implied."),
    ),
    rules=(
        Rule("a rank is one dialogue's",
             "select sample_rank from sample_memories group by sample_rank having count(distinct dialogue_id) > 1"),
        Rule("a sample is drawn for one thing",
             "select sample_rank from sample_memories group by sample_rank having count(distinct drawn_for) > 1"),
        Rule("samples for a floor come first, then those with an implicit memory",
             "select sample_rank from sample_memories "
             "qualify list_position(['floor', 'implicit', 'any'], drawn_for) "
             "< lag(list_position(['floor', 'implicit', 'any'], drawn_for)) over (order by sample_rank)"),
    ),
)  # fmt: skip
