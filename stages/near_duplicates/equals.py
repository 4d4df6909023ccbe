"""Texts that are equal when folded: the first of them is compared for all."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from stages.near_duplicates.columns import matrix_of
from stages.near_duplicates.shingles import Hashes, Numbers, expanded


def first_equals(digests: Hashes) -> Numbers:
    """Return for each text the position of the first that is equal; -1 for a text without a letter or digit."""
    frame = pl.DataFrame(digests, schema=["high", "low"], orient="row").with_row_index("position")
    first = frame.select(pl.col("position").min().over("high", "low")).to_series().to_numpy()
    return np.where(digests.any(axis=1), first.astype(np.int64), -1)


def last_equals(first: Numbers) -> Numbers:
    """Return for each text that is the first of its equals the position of the last of them; -1 for the others."""
    last = np.full(len(first), -1)
    texts = np.flatnonzero(first >= 0)
    np.maximum.at(last, first[texts], texts)
    return last


def with_equals(likes: pa.Table, first: Numbers) -> pa.Table:
    """Add to what the first of equal texts are like what the others are like.

    If the first is kept, the others are members of it. If it is a member, each is like the same kept texts, as far as
    they stand before it: so a later one may be like more of them than the first.
    """
    kept, members, jaccard = (matrix_of(likes, name) for name in likes.column_names)
    order = np.argsort(first, kind="stable")
    begins = np.searchsorted(first[order], members)
    counts = np.bincount(first[first >= 0], minlength=len(first))[members]
    near = pa.table(
        [np.repeat(kept, counts), order[expanded(begins, counts)], np.repeat(jaccard, counts)], schema=likes.schema
    )
    is_member = np.zeros(len(first), dtype=np.bool_)
    is_member[members] = True
    copies = np.flatnonzero((first >= 0) & (first < np.arange(len(first))) & ~is_member[first])
    equal = pa.table([first[copies], copies, np.ones(len(copies))], schema=likes.schema)
    return pa.concat_tables([near.filter(pc.less(near["kept"], near["member"])), equal])
