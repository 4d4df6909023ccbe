"""What the table `audits` promises."""

from expectations.contract import Column, Contract, Rule

CONTRACT = Contract(
    about="a gate that the release was put to",
    columns=(
        Column("gate", about="The question."),
        Column("track", about="The track it was asked of, or all."),
        Column("verdict", values=("passed", "failed", "not_measured"), about="The answer."),
        Column("figure", "BIGINT", null=True, between=(0, None), about="Rows that break it, or hits of a shortcut."),
        Column("bound", "BIGINT", null=True, between=(0, None), about="The most that is allowed."),
        Column("of", "BIGINT", null=True, between=(0, None), about="Rows looked at."),
        Column("chance", "DOUBLE", null=True, between=(0, 1), about="Mean chance of a blind hit."),
        Column("detail", null=True, about="Why it was not measured."),
        Column("rows", "VARCHAR[]", about="Some of the rows that break it."),
    ),
    unique=(("gate", "track"),),
    rules=(
        Rule(
            "a verdict fits its figure",
            """
            select gate from audits
            where verdict <> 'not_measured' and (verdict = 'failed') <> (figure > bound)
            """,
        ),
    ),
)
