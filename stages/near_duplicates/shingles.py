"""Character n-grams of texts: as sets of strings to read, and as arrays of hashes to compute with."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llm.words import MARKS

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
BORDER = "\0"
NO_LETTERS = re.compile(rf"[^\w{BORDER}{MARKS}]+")


class Shingles(NamedTuple):
    """The hashes of the n-grams of many texts, text after text; those of text i stand from starts[i] to starts[i + 1].

    An n-gram that a text repeats is repeated here.
    """

    hashes: Hashes
    starts: Numbers


def folded(texts: Sequence[str]) -> list[str]:
    """Return texts in one width and case, with single spaces for all that is no letter and no digit.

    They are folded in one go, side by side: no step of it reaches over the border between two.
    """
    beside = BORDER.join(text.replace(BORDER, " ") for text in texts)
    plain = NO_LETTERS.sub(" ", unicodedata.normalize("NFKC", beside).casefold().replace("_", " "))
    return plain.replace(f"{BORDER} ", BORDER).replace(f" {BORDER}", BORDER).strip(" ").split(BORDER)[: len(texts)]


def shingles_of(text: str, characters: int) -> frozenset[str]:
    """Return the set of character n-grams of the folded text; a shorter text is one shingle of its own."""
    [plain] = folded([text])
    if not plain:
        return frozenset()
    return frozenset(plain[i : i + characters] for i in range(max(1, len(plain) - characters + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common members in all members of two sets, 0 to 1."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def hashed_shingles(plain: Sequence[str], characters: int) -> Shingles:
    """Return the n-grams of folded texts as hashes of 64 bits: the same n-gram, the same hash, everywhere.

    That two different n-grams among a million have one hash has a chance of one in 37 million.
    """
    gap = BORDER * characters  # so that what a shorter text lacks of an n-gram is filled up with borders
    beside = gap.join([*plain, ""]).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(beside, dtype=np.uint32)
    lengths = np.fromiter(map(len, plain), np.int64, len(plain))
    counts = np.where(lengths > 0, np.maximum(lengths - characters + 1, 1), 0)
    starts = np.array([0, *accumulate(counts.tolist())], dtype=np.int64)
    begins = np.cumsum(lengths + characters) - (lengths + characters)
    hashes: Hashes = np.zeros(max(len(codes) - characters + 1, 0), dtype=np.uint64)
    for place in range(characters):
        hashes = mixed(hashes, codes[place : place + len(hashes)])
    return Shingles(hashes[expanded(begins, counts)], starts)


def mixed(hashes: Hashes, values: npt.NDArray[np.uint32]) -> Hashes:
    """Take one more value into each hash: two values give two hashes, and so do two hashes with one value."""
    hashes = hashes + values + np.uint64(0x9E3779B97F4A7C15)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)  # two constants of SplitMix64 (Steele, Lea, Flood 2014)
    hashes ^= hashes >> np.uint64(32)
    return hashes


def expanded(begins: Numbers, counts: Numbers) -> Numbers:
    """Return the places begins[i], begins[i] + 1, ... of each range of counts[i] places, range after range."""
    shifts = begins - (np.cumsum(counts) - counts)
    return np.repeat(shifts, counts) + np.arange(counts.sum())
