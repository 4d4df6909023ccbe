"""Finds texts that are nearly the same: MinHash for candidates, exact Jaccard for the verdict."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from datasketch import MinHashLSH
from rensa import RMinHash

from llm.words import MARKS

SEED = 42
BAND_WEIGHTS = (0.05, 0.95)
"""What a false candidate and a missed one weigh in the choice of bands: exact Jaccard sorts out the false ones.

With even weights three of five pairs at a threshold of 0.8 are missed; with these, one of twenty.
"""
NO_LETTERS = re.compile(rf"(?:[^\w{MARKS}]|_)+")
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


@dataclass(frozen=True)
class Pair:
    """A text that is nearly the same as an earlier, kept one: their positions and Jaccard similarity.

    `likes` are all the kept ones that it is like, the nearest of them among them.
    """

    kept: int
    member: int
    jaccard: float
    likes: tuple[int, ...]


def near_duplicates(
    texts: Sequence[str], *, shingle_characters: int, threshold: float, permutations: int
) -> list[Pair]:
    """Go through `texts` in their order and keep each one that is not like one already kept.

    Two texts are alike when the Jaccard similarity (0 to 1) of their sets of character n-grams is at
    least `threshold`. No chain forms: a member is always like the kept text itself. A text without a
    letter or digit is like no other.
    """
    shingles = [shingles_of(text, shingle_characters) for text in texts]
    kept_in: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    pairs = []
    for position, bands in enumerate(_bands(shingles, threshold, permutations)):
        candidates = {earlier for band in bands for earlier in kept_in.get(band, ())}
        compared = ((jaccard(shingles[position], shingles[one]), -one) for one in candidates)
        likes = [(similarity, one) for similarity, one in compared if similarity >= threshold]
        if likes:
            best, kept = max(likes)
            pairs.append(Pair(-kept, position, best, tuple(sorted(-one for _, one in likes))))
        else:
            for band in bands:
                kept_in[band].append(position)
    return pairs


def pairs_table(
    rows: Sequence[tuple[str, str, str]], shingle_characters: int, threshold: float, permutations: int
) -> pa.Table:
    """Compare the texts of (id, user_id, text) in the order given: one row a near-duplicate pair."""
    pairs = near_duplicates(
        [text for _, _, text in rows],
        shingle_characters=shingle_characters,
        threshold=threshold,
        permutations=permutations,
    )
    kept, members = [rows[pair.kept] for pair in pairs], [rows[pair.member] for pair in pairs]
    columns = [
        [row[0] for row in kept],
        [row[0] for row in members],
        [row[1] for row in kept],
        [row[1] for row in members],
        [pair.jaccard for pair in pairs],
        [sorted({rows[one][1] for one in pair.likes}) for pair in pairs],
    ]
    return pa.table(columns, schema=PAIRS)


def shingles_of(text: str, characters: int) -> frozenset[str]:
    """Return the set of character n-grams of the folded text; a shorter text is one shingle of its own."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = NO_LETTERS.sub(" ", folded).strip()
    if not plain:
        return frozenset()
    return frozenset(plain[i : i + characters] for i in range(max(1, len(plain) - characters + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common members in all members of two sets, 0 to 1."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def _bands(
    shingles: Sequence[frozenset[str]], threshold: float, permutations: int
) -> Iterator[list[tuple[int, bytes]]]:
    bands, rows = _shape(threshold, permutations)
    for one in shingles:
        yield _bands_of(one, bands, rows, permutations) if one else []


@cache
def _shape(threshold: float, permutations: int) -> tuple[int, int]:
    """Choose the number of bands and the rows of each; near 1 a single band would be best, which datasketch refuses."""
    lsh = MinHashLSH(threshold=min(threshold, 0.9), num_perm=permutations, weights=BAND_WEIGHTS)
    return lsh.b, lsh.r


def _bands_of(shingles: Iterable[str], bands: int, rows: int, permutations: int) -> list[tuple[int, bytes]]:
    signature = RMinHash(permutations, SEED)
    signature.update(list(shingles))
    digest = np.asarray(signature.digest(), dtype=np.uint32)
    return [(band, digest[band * rows : (band + 1) * rows].tobytes()) for band in range(bands)]
