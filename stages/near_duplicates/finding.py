"""Finds near-duplicates: a sketch of each text, buckets over all sketches, then each piece of components by itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from stages.near_duplicates.buckets import bucketed, pieces_of
from stages.near_duplicates.candidates import Candidates
from stages.near_duplicates.columns import column_of, matrix_of
from stages.near_duplicates.equals import first_equals, last_equals, with_equals
from stages.near_duplicates.greedy import Greedy
from stages.near_duplicates.sets import Sets
from stages.near_duplicates.shingles import Numbers
from stages.near_duplicates.sketches import sketch
from stages.workers import HERE, Workers

CHUNK = 2_000
"""So many texts are sketched at a time: what is made of them on the way stays in a processor's cache."""
PIECE = 20_000_000
"""About so many n-grams are compared in one piece, which takes some 500 MB; a component is never cut."""
TEXTS = pa.schema([("position", pa.int64()), ("group", pa.string()), ("text", pa.string())])
LIKES = pa.schema([("kept", pa.int64()), ("member", pa.int64()), ("jaccard", pa.float64())])


class Texts(Protocol):
    """Texts that are numbered from 0 on, without a gap, in the order in which they are gone through."""

    def chunks(self) -> Iterable[pa.Table]:
        """Give all texts, as tables of `position`, `group` and `text`: cut anyhow, and in any order."""
        ...

    def at(self, positions: Numbers) -> pa.Table:
        """Return the texts at some positions, in any order."""
        ...


class Listed:
    """Texts of a list, with the group of each, or all of one group."""

    def __init__(self, texts: Sequence[str], groups: Sequence[str] | None = None) -> None:
        self.texts, self.groups = texts, groups if groups is not None else [""] * len(texts)

    def chunks(self) -> Iterator[pa.Table]:
        """Give all texts."""
        for start in range(0, len(self.texts), CHUNK):
            yield self.at(np.arange(start, min(start + CHUNK, len(self.texts))))

    def at(self, positions: Numbers) -> pa.Table:
        """Return the texts at some positions."""
        columns = [[values[position] for position in positions.tolist()] for values in (self.groups, self.texts)]
        return pa.table([positions, *columns], schema=TEXTS)


def near_duplicates(
    texts: Texts, *, shingle_characters: int, threshold: float, permutations: int, workers: Workers = HERE
) -> pa.Table:
    """Go through texts in their order and keep each one that is not like one already kept.

    Two texts are alike when the Jaccard similarity (0 to 1) of their sets of character n-grams is at least `threshold`.
    Texts of two groups are not compared. No chain forms: a member is always like the kept text itself. A text without
    a letter or digit is like no other.

    Returned are all kept ones before it that a member is like: the positions `kept` and `member` and their `jaccard`,
    by member and then by kept. Candidates are found by MinHash, at least 99.5 % of those at the threshold, and compared
    exactly. Neither how texts are cut and ordered nor who does the work makes a difference.
    """
    knobs: dict[str, Any] = {
        "shingle_characters": shingle_characters,
        "threshold": threshold,
        "permutations": permutations,
    }
    nothing = sketch(Listed([]).at(np.arange(0)), **knobs)
    sketches = pa.concat_tables([nothing, *workers.each(sketch, texts.chunks(), **knobs)])
    order = np.argsort(matrix_of(sketches, "position"))
    made = {name: matrix_of(sketches, name)[order] for name in sketches.column_names}
    del sketches
    first = first_equals(made["digest"])
    found = pa.concat_tables(
        [LIKES.empty_table(), *workers.each(decide, pieces(texts, made, first, workers.pieces), **knobs)]
    )
    return with_equals(found, first).sort_by([("member", "ascending"), ("kept", "ascending")])


def pieces(texts: Texts, sketches: Mapping[str, Any], first: Numbers, at_least: int) -> Iterator[pa.Table]:
    """Cut what shares a band with another text into pieces of whole components.

    Of equal texts, the first stands for all. A piece has all that is needed to decide which of its texts are kept:
    their `position`, in rising order; `last`, the position of the last equal text; their `buckets` and `signature`; and
    the `text`.
    """
    uniques = np.flatnonzero(first == np.arange(len(first)))
    last = last_equals(first)
    buckets = bucketed(sketches["keys"][uniques])
    for rows in pieces_of(buckets, sketches["size"][uniques], PIECE, at_least):
        positions = uniques[rows]
        found = texts.at(positions).sort_by("position")
        yield pa.table(
            {
                "position": positions,
                "last": last[positions],
                "buckets": column_of(buckets[rows]),
                "signature": column_of(sketches["signature"][positions]),
                "text": found["text"],
            }
        )


def decide(piece: pa.Table, *, shingle_characters: int, threshold: float, permutations: int) -> pa.Table:
    """Decide what is kept of a piece, and return what its members are like."""
    positions, last = matrix_of(piece, "position"), matrix_of(piece, "last")
    sets = Sets(piece["text"], shingle_characters, matrix_of(piece, "signature"))
    greedy = Greedy(Candidates(matrix_of(piece, "buckets")), sets, threshold)
    likes = greedy.likes(np.searchsorted(positions, last))
    return pa.table([positions[likes.kept], positions[likes.member], likes.jaccard], schema=LIKES)
