"""Finds a text in another where letters are missing, added or changed: slips of the pen, of who typed or who quoted."""

from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

LETTERS = 16
"""A text is looked for from this many letters on."""
MOST_LETTERS = 200
"""Of a longer one only the first so many are looked for: the time grows with their number."""
LIKENESS = 85.0
"""How alike the two must be, 0 to 100: twice the letters in common, in order, by the letters of both."""
MATCHING_LETTERS = 3
"""So many letters in a row show where the likeness begins and ends."""


class Alike(NamedTuple):
    """How alike a part of a text is to the one that was looked for, 0 to 100, and the letters that it has."""

    likeness: float
    start: int
    end: int


def find_alike(wanted: str, text: str) -> Alike | None:
    """Find the part of a text that is most like the wanted one; None where nothing is like enough.

    Args:
        wanted: Folded text; of more than `MOST_LETTERS` the first are looked for, of fewer than `LETTERS` none.
        text: Folded text.
    """
    wanted = wanted[:MOST_LETTERS]
    if len(wanted) < LETTERS:
        return None
    if len(text) < len(wanted):  # else the text would be looked for in what is wanted
        likeness = fuzz.ratio(wanted, text, score_cutoff=LIKENESS)
        return Alike(likeness, 0, len(text)) if likeness else None
    found = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=LIKENESS)
    return Alike(found.score, *_trimmed(wanted, text, found.dest_start, found.dest_end)) if found else None


def _trimmed(wanted: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Cut off what does not match at both ends: the part that was found is as long as what was wanted."""
    matching = [
        block for block in Indel.opcodes(wanted, text[start:end]).as_matching_blocks() if block.size >= MATCHING_LETTERS
    ]
    if not matching:
        return start, end
    return start + matching[0].b, start + matching[-1].b + matching[-1].size
