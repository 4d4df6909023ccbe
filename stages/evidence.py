"""Finds where in a dialogue the user said what a memory rests on."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+)\s*")
PIECE_CHARACTERS = 12
"""A piece of a cut quotation counts from this length on: shorter ones stand everywhere."""


@dataclass(frozen=True)
class Span:
    """Where evidence stands: message index from 0 over all messages, characters from `start` up to `end`."""

    message: int
    start: int
    end: int
    way: Literal["exact", "normalised", "piece"]


def find_evidence(quotation: str, messages: Sequence[Mapping[str, str]]) -> Span | None:
    """Find a quotation in the messages of the user, the earliest first; None where it stands in none.

    First as it is, then without regard to white space, case, quotes and punctuation, then by its longest
    piece between ellipses.
    """
    wanted = quotation.strip()
    if not wanted:
        return None
    spoken = [(index, one["text"]) for index, one in enumerate(messages) if one["role"] == "user"]
    for index, text in spoken:
        if (start := text.find(wanted)) >= 0:
            return Span(index, start, start + len(wanted), "exact")
    plain = [(index, *_plain(text)) for index, text in spoken]
    for piece, way in _pieces(wanted):
        letters, _ = _plain(piece)
        for index, text, places in plain:
            if letters and (start := text.find(letters)) >= 0:
                last = places[start + len(letters) - 1]
                return Span(index, places[start], last + 1, way)
    return None


def _pieces(quotation: str) -> Iterator[tuple[str, Literal["normalised", "piece"]]]:
    yield quotation, "normalised"
    pieces = [piece for piece in ELLIPSIS.split(quotation) if len(piece) >= PIECE_CHARACTERS]
    for piece in sorted(pieces, key=len, reverse=True):
        yield piece, "piece"


def _plain(text: str) -> tuple[str, list[int]]:
    """Return the letters, digits and signs of a text, folded, and where each stands in it."""
    letters, places = [], []
    for place, character in enumerate(text):
        for folded in unicodedata.normalize("NFKC", character).casefold():
            if not (folded.isspace() or unicodedata.category(folded)[0] in "PC"):
                letters.append(folded)
                places.append(place)
    return "".join(letters), places
