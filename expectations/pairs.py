"""What a table of near-duplicate pairs promises."""

from expectations.columns import an_id
from expectations.contract import Column, Contract, Rule


def pairs_contract(table: str, letter: str) -> Contract:
    """Return the contract of a table of pairs, whose ids begin with a letter."""
    return Contract(
        about="a near-duplicate, beside the kept one that it is like",
        columns=(
            an_id("kept_id", letter, "The one that is kept."),
            an_id("member_id", letter, "The near-duplicate of it.", unique=True),
            an_id("kept_user_id", "u", "The user of the kept one."),
            an_id("member_user_id", "u", "The user of the near-duplicate."),
            Column("jaccard", "DOUBLE", between=(0, 1), about="Exact similarity of their sets of character n-grams."),
            Column("like_user_ids", "VARCHAR[]", about="The users of all kept ones that it is like."),
        ),
        min_rows=0,
        rules=(
            Rule(
                "nothing is both kept and dropped",
                f"select member_id from {table} where member_id in (select kept_id from {table})",
            ),
        ),
    )
