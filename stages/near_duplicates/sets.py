"""Exact Jaccard similarities of many pairs of sets at once."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array, vstack
from scipy.stats import binom

from stages.near_duplicates.candidates import batches
from stages.near_duplicates.shingles import Numbers, folded, hashed_shingles

COLUMNS = 2**63 - 1
CHUNK = 500
"""So many texts are cut into n-grams at a time."""
BATCH = 1_000_000
"""So many shingles are compared at a time, where one pair has no more."""


LOST = 1e-6
"""The share of pairs at the threshold that may go uncompared, since their signatures agree in too few places."""


class Sets:
    """The shingles of texts as rows of a sparse matrix, whose columns are their hashes."""

    def __init__(self, texts: pa.ChunkedArray, characters: int, signatures: npt.NDArray[np.uint8]) -> None:
        starts = range(0, len(texts), CHUNK)
        parts = [distinct(folded(texts.slice(start, CHUNK).to_pylist()), characters) for start in starts]
        self.rows = vstack([distinct([], characters), *parts], format="csr")
        self.signatures = signatures
        self.sizes = np.diff(self.rows.indptr)

    def jaccards(self, ones: Numbers, others: Numbers) -> npt.NDArray[np.float64]:
        """Return the similarity of each pair."""
        pairs = np.arange(len(ones))
        common = [
            np.diff((self.rows[ones[some]] * self.rows[others[some]]).indptr)
            for some in batches(pairs, self.sizes[ones] + self.sizes[others], BATCH)
        ]
        shared = np.concatenate([np.empty(0, dtype=np.int64), *common])
        similarities: npt.NDArray[np.float64] = shared / (self.sizes[ones] + self.sizes[others] - shared)
        return similarities

    def may_be_alike(self, ones: Numbers, others: Numbers, threshold: float) -> npt.NDArray[np.bool_]:
        """Say of each pair whether it is worth comparing: its sizes leave room for a similarity of `threshold`.

        And its signatures speak for one: of pairs at the threshold, as many places agree as of coins that are thrown.
        """
        one, other = self.sizes[ones], self.sizes[others]
        possible: npt.NDArray[np.bool_] = np.minimum(one, other) / np.maximum(one, other) >= threshold
        places = np.flatnonzero(possible)
        width = self.signatures.shape[1]
        fewest = binom.ppf(LOST, width, threshold)
        for some in np.array_split(places, len(places) // 10_000 + 1):
            same = np.count_nonzero(self.signatures[ones[some]] == self.signatures[others[some]], axis=1)
            possible[some] = same >= fewest
        return possible


def distinct(plain: Sequence[str], characters: int) -> csr_array:
    """Return the n-grams of each text, once."""
    hashes, starts = hashed_shingles(plain, characters)
    columns = (hashes >> np.uint64(1)).view(np.int64)
    rows = csr_array((np.ones(len(columns), dtype=np.int8), columns, starts), shape=(len(plain), COLUMNS), copy=False)
    rows.sum_duplicates()
    rows.data[:] = 1
    return rows
