"""What the table `leak_checks` promises."""

from expectations.columns import item_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="what one check says of one item's query",
    columns=(
        item_id(),
        Column("check", values=("lexical", "auditor"), about="By shared words, or by the auditor's verdict."),
        Column("verdict", values=("passed", "leaks", "not_measured"), about="What it says."),
        Column("evidence", null=True, about="The words that it rests on."),
        Column("checked_by", about="Who checked."),
    ),
    unique=(("item_id", "check"),),
)
