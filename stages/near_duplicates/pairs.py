"""Near-duplicates as rows of a table: who is kept, and who goes for it."""

import polars as pl
import pyarrow as pa

SIDES = ("kept", "member")
PAIRS = pa.schema(
    [
        ("kept_id", pa.string()),
        ("member_id", pa.string()),
        ("kept_user_id", pa.string()),
        ("member_user_id", pa.string()),
        ("jaccard", pa.float64()),
        ("like_user_ids", pa.list_(pa.string())),
    ]
)


def pairs_table(names: pa.Table, likes: pa.Table) -> pa.Table:
    """Return one row a member, in the order of positions, beside the kept text that it is most like.

    Of several that it is as much like, the first.

    Args:
        names: `id` and `user_id` of the texts, by position.
        likes: All kept texts that each member is like.
    """
    known = names.append_column("position", pa.array(range(len(names)), pa.int64()))
    kept, members = (pl.DataFrame(known.rename_columns([f"{side}_id", f"{side}_user_id", side])) for side in SIDES)
    rows = (
        pl.DataFrame(likes)
        .join(kept, on="kept")
        .sort("member", "jaccard", "kept", descending=[False, True, False])
        .group_by("member", maintain_order=True)
        .agg(pl.col("kept_id", "kept_user_id", "jaccard").first(), like_user_ids=pl.col("kept_user_id").unique().sort())
        .join(members, on="member", maintain_order="left")
    )
    return rows.select(PAIRS.names).to_arrow().cast(PAIRS)
