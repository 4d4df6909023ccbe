"""The bands of MinHash signatures: two texts that agree in one of them may be alike."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from datasketch import MinHashLSH

FOUND = 0.995
"""The share of the pairs exactly at the threshold that are to agree in a band; of those above it, more do."""
WEIGHTS = (0.05, 0.95)
"""What a false candidate and a missed one weigh in the choice of bands: exact Jaccard sorts out the false ones."""
HIGHEST, LOWEST, STEP = 0.9, 0.01, 0.01
"""Thresholds that datasketch is asked for. Above, it would choose a single band, and then refuses."""


@dataclass(frozen=True)
class Bands:
    """How a signature is cut: into so many bands of so many rows each."""

    count: int
    rows: int

    def share_found(self, similarity: float) -> float:
        """Return how likely two texts of a Jaccard similarity s agree in a band: 1 - (1 - s^rows)^count.

        Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2.
        """
        return float(1 - (1 - similarity**self.rows) ** self.count)


@cache
def choose_bands(threshold: float, permutations: int) -> Bands:
    """Let datasketch choose, for thresholds falling from the one that is asked for until enough pairs are found.

    For the threshold itself it misses one pair in twenty at 0.8. Too few permutations for a low threshold (16 do for
    0.3) are all used as bands of one row, which find as many as can be found.
    """
    for lower in np.arange(min(threshold, HIGHEST), LOWEST, -STEP).tolist():
        lsh = MinHashLSH(threshold=lower, num_perm=permutations, weights=WEIGHTS)
        bands = Bands(lsh.b, lsh.r)
        if bands.share_found(threshold) >= FOUND:
            return bands
    return Bands(permutations, 1)
