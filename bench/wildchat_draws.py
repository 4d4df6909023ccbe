"""Draws numbers for rows: each from the seed, the row and a name alone, so no row depends on its neighbours."""

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
Reals = NDArray[np.float64]
Picks = NDArray[np.int64]

STEP = np.uint64(0x9E3779B97F4A7C15)
UNITS = 2.0**-53


@dataclass(frozen=True)
class Draws:
    """Draws by counter: the same key and name give the same number, whatever is drawn before or beside it."""

    seed: int

    def whole(self, keys: Numbers, name: str) -> Numbers:
        """Return numbers of 64 even bits."""
        salt = np.uint64(crc32(f"{self.seed}|{name}".encode()))
        return mixed(mixed(keys * STEP + salt) ^ (salt << np.uint64(32)))

    def unit(self, keys: Numbers, name: str) -> Reals:
        """Return numbers from 0 to below 1."""
        return (self.whole(keys, name) >> np.uint64(11)).astype(np.float64) * UNITS

    def pick(self, keys: Numbers, name: str, weights: tuple[int, ...]) -> Picks:
        """Return positions in `weights`, each as often as its weight says."""
        return np.searchsorted(np.cumsum(weights), self.unit(keys, name) * sum(weights), side="right")


def mixed(numbers: Numbers) -> Numbers:
    """Return numbers with every bit spread over all (the finaliser of splitmix64, Steele et al. 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
