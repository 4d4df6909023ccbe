"""What the table `annotations` promises."""

from expectations.columns import memory_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="what became of one memory",
    columns=(
        memory_id(unique=True),
        Column("verdict", values=("passed", "kept", "changed", "removed"), about="passed: nobody looked at it."),
        Column("verified", "BOOLEAN", about="Whether a person decided it."),
    ),
)
