"""Goes through texts in their order and keeps each one that is not like one already kept."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stages.near_duplicates.candidates import Candidates
from stages.near_duplicates.sets import Sets
from stages.near_duplicates.shingles import Numbers


class Likes(NamedTuple):
    """Which kept text each member is like, and how much: a row for each two."""

    kept: Numbers
    member: Numbers
    jaccard: npt.NDArray[np.float64]


def together(parts: Iterator[Likes] | list[Likes]) -> Likes:
    """Return parts as one."""
    nothing = Likes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    return Likes(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


class Greedy:
    """Decides which of the texts of whole components are kept: those that no earlier, kept one is like.

    The texts are decided block by block: those of a block among themselves, then all later ones against what the block
    keeps. So pairs of two members, which may be billions, are never made but inside a block. How blocks are cut makes
    no difference to what is kept.
    """

    def __init__(self, candidates: Candidates, sets: Sets, threshold: float) -> None:
        self.candidates, self.sets, self.threshold = candidates, sets, threshold
        self.is_member = np.zeros(len(sets.sizes), dtype=np.bool_)
        self._decide()

    def likes(self, last: Numbers) -> Likes:
        """Return all kept texts that a member is like and that stand before `last` of it, the last text equal to it."""
        kept, members = np.flatnonzero(~self.is_member), np.flatnonzero(self.is_member)
        return together(self._alike(kept, members, last))

    def _decide(self) -> None:
        positions = np.arange(len(self.is_member))
        undecided = positions
        while len(undecided):
            first = self.candidates.first_few(undecided)
            block, later = undecided[:first], undecided[first:]
            for pairs in self._alike(block, block, positions):
                self._decide_among(pairs)
            for pairs in self._alike(block[~self.is_member[block]], later, positions):
                self.is_member[pairs.member] = True
            undecided = later[~self.is_member[later]]

    def _decide_among(self, pairs: Likes) -> None:
        order = np.argsort(pairs.kept, kind="stable")
        ones, others = pairs.kept[order], pairs.member[order]
        borders = np.flatnonzero(np.diff(ones, prepend=-1))
        for one, members in zip(ones[borders], np.split(others, borders[1:]), strict=len(ones) > 0):
            if not self.is_member[one]:
                self.is_member[members] = True

    def _alike(self, ones: Numbers, others: Numbers, before: Numbers) -> Iterator[Likes]:
        """Give the pairs that are alike, in the order of the others, if the one stands before `before` of the other."""
        for one, other in self.candidates.pairs(ones, others):
            possible = (one < before[other]) & self.sets.may_be_alike(one, other, self.threshold)
            one, other = one[possible], other[possible]
            jaccard = self.sets.jaccards(one, other)
            alike = jaccard >= self.threshold
            yield Likes(one[alike], other[alike], jaccard[alike])
