"""Pairs of texts that share a bucket, made in batches that fit in memory."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stages.near_duplicates.buckets import ALONE, Buckets
from stages.near_duplicates.shingles import Numbers, expanded

Pairs = tuple[Numbers, Numbers]
"""The ones and the others of pairs of texts, by position."""
BATCH = 1_000_000
"""So many pairs are made at a time, where one text has no more; each bucket that two share counts."""


class Candidates:
    """The pairs of texts that share a bucket; `batch` is how many are made at a time."""

    def __init__(self, buckets: Buckets, batch: int = BATCH) -> None:
        self.buckets, self.batch = buckets, batch
        self.highest = int(buckets.max(initial=ALONE))

    def pairs(self, ones: Numbers, others: Numbers) -> Iterator[Pairs]:
        """Give each pair of one of `ones` and one of `others` that share a bucket, once."""
        members, begins, sizes = self._inside(ones)
        for some in batches(others, sizes[self.buckets[others]].sum(axis=1), self.batch):
            found = self.buckets[some]
            counts = sizes[found]
            one = members[expanded(begins[found].ravel(), counts.ravel())]
            other = np.repeat(some, counts.sum(axis=1))
            both = np.unique(one * len(self.buckets) + other)
            yield both // len(self.buckets), both % len(self.buckets)

    def first_few(self, texts: Numbers) -> int:
        """Return how many of the first of `texts`, one at least, make no more than one batch of pairs."""
        flat = self.buckets[texts].ravel()
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
        earlier = np.empty(len(flat), dtype=np.int64)
        earlier[order] = np.arange(len(flat)) - np.searchsorted(ordered, ordered)
        earlier[flat == ALONE] = 0
        pairs = np.cumsum(earlier.reshape(len(texts), -1).sum(axis=1))
        return max(1, int(np.searchsorted(pairs, self.batch, side="right")))

    def _inside(self, texts: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return texts by bucket, and where those of each bucket begin and how many they are."""
        flat = self.buckets[texts].ravel()
        members = np.repeat(texts, self.buckets.shape[1])[np.argsort(flat, kind="stable")]
        sizes = np.bincount(flat, minlength=self.highest + 1)
        begins = np.cumsum(sizes) - sizes
        sizes[ALONE] = 0
        return members, begins, sizes


def batches(values: npt.NDArray[np.int64], weights: Numbers, most: int) -> Iterator[npt.NDArray[np.int64]]:
    """Cut `values` into runs whose weights come to `most`, or to a little more by the last of them."""
    places = (np.cumsum(weights) - weights) // most
    yield from (run for run in np.split(values, np.flatnonzero(np.diff(places)) + 1) if len(run))
