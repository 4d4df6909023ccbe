"""Finds where in a dialogue the user said what a memory rests on."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from stages.folding import Place, cuts_word, fold, folded_places, literal_places, unfold, whole_words
from stages.quotations import PIECE_CHARACTERS, read_quotation
from stages.slips import find_alike

PARTS_SHARE = 0.5
"""Single sentences out of a quotation count where this share of its letters, or more, was said."""

Way = Literal["exact", "normalised", "piece", "neighbours", "fuzzy", "assistant"]
Said = Sequence[tuple[int, str]]
"""Index and text of each message that is looked through."""


@dataclass(frozen=True)
class Span:
    """Where evidence stands: message index from 0 over all messages, characters from `start` up to `end`."""

    message: int
    start: int
    end: int
    way: Way


def locate(quotation: str, messages: Sequence[Mapping[str, str]]) -> Span | None:
    """Find a quotation anywhere in a dialogue: with the way `assistant` where only the assistant said it."""
    if span := find_evidence(quotation, messages):
        return span
    answers = [(index, one["text"]) for index, one in enumerate(messages) if one["role"] != "user"]
    span = _find(quotation, answers)
    return span and replace(span, way="assistant")


def find_evidence(quotation: str, messages: Sequence[Mapping[str, str]]) -> Span | None:
    """Find a quotation in the messages of the user; None where it stands in none.

    First as it is (`exact`); then without regard to white space, case, quotes and punctuation (`normalised`); then its
    longest piece between ellipses, in the message that holds most of the pieces (`piece`); then over the border of two
    messages of the user that follow each other, of which the span is the longer part (`neighbours`); then with slips of
    the pen (`fuzzy`); last its longest sentence, if at least half of it was said (`piece`). Of several places the
    earliest counts.
    """
    return _find(quotation, [(index, one["text"]) for index, one in enumerate(messages) if one["role"] == "user"])


def _find(quotation: str, said: Said) -> Span | None:
    wholes, pieces, parts = read_quotation(quotation)
    tries = (
        *(_whole(one, said, "exact", literal_places) for one in wholes),
        *(_whole(one, said, "normalised", folded_places) for one in wholes),
        _most_pieces(pieces, said),
        *(_over_border(fold(one), said) for one in wholes),
        *(_with_slips(one, said) for one in (*wholes, *pieces)),
        _most_pieces(parts, said, least=PARTS_SHARE * len(fold(quotation))),
    )
    return next((span for found in tries for span in found), None)


def _whole(wanted: str, said: Said, way: Way, places: Callable[[str, str], Iterator[Place]]) -> Iterator[Span]:
    # Without spaces and punctuation, a few letters stand in the middle of other words.
    is_loose = way == "normalised" and len(wanted) < PIECE_CHARACTERS
    for index, text in said:
        for place in places(wanted, text):
            if not (is_loose and cuts_word(text, place)):
                yield Span(index, *place, way)


def _most_pieces(pieces: Sequence[str], said: Said, least: float = 0) -> Iterator[Span]:
    """Look for pieces, the longest first; all that are found have at least so many letters together."""
    held = {index: [piece for piece in pieces if fold(piece) and fold(piece) in fold(text)] for index, text in said}
    found = {piece for these in held.values() for piece in these}
    if found and _letters(found) >= least:
        index = max(held, key=lambda index: _letters(held[index]))
        yield Span(index, *next(folded_places(held[index][0], dict(said)[index])), "piece")


def _letters(pieces: Collection[str]) -> int:
    return sum(len(fold(piece)) for piece in pieces)


def _over_border(letters: str, said: Said) -> Iterator[Span]:
    if len(letters) < PIECE_CHARACTERS:
        return
    for (first, before), (second, after) in pairwise(said):
        length, most = len(fold(before)), len(letters) - 1
        tail, head = fold(before)[-most:], fold(after)[:most]
        if (start := (tail + head).find(letters)) >= 0:
            in_first = len(tail) - start
            if 2 * in_first >= len(letters):
                yield Span(first, *unfold(before, length - in_first, length), "neighbours")
            else:
                yield Span(second, *unfold(after, 0, len(letters) - in_first), "neighbours")


def _with_slips(wanted: str, said: Said) -> Iterator[Span]:
    alike = [
        (found.likeness, Span(index, *whole_words(text, unfold(text, found.start, found.end)), "fuzzy"))
        for index, text in said
        if (found := find_alike(fold(wanted), fold(text)))
    ]
    yield from (span for _, span in sorted(alike, key=lambda one: -one[0])[:1])
