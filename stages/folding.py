"""Reduces texts to the letters by which they are compared, and finds those letters in a text again."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

UNSPACED = 0x0E00
"""The scripts from Thai on, with Chinese, Japanese and Korean, do not set words apart as those before do."""


class Place(NamedTuple):
    """Characters of a text, from `start` up to `end`."""

    start: int
    end: int


class _Folds(dict[int, str]):
    """What is left of each character: its parts in lower case, without white space, punctuation and quotes."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
        self[code] = "" if _is_dressing(character) else "".join(one for one in parts if not _is_dressing(one))
        return self[code]


def _is_dressing(character: str) -> bool:
    category = unicodedata.category(character)
    return character.isspace() or category[0] in "PC" or category == "Sk"


_FOLDS = _Folds()


@lru_cache(maxsize=512)
def fold(text: str) -> str:
    """Return the letters, digits, accents and signs of a text: the same for composed and decomposed accents."""
    return text.translate(_FOLDS)


@lru_cache(maxsize=16)
def _places(text: str) -> list[int]:
    """Return where each letter of the folded text stands in the text."""
    return [place for place, character in enumerate(text) for _ in _FOLDS[ord(character)]]


def unfold(text: str, start: int, end: int) -> Place:
    """Return where the letters from `start` up to `end` of a folded text stand in the text, accents included."""
    places = _places(text)
    stop = places[end - 1] + 1
    while stop < len(text) and unicodedata.combining(text[stop]):
        stop += 1
    return Place(places[start], stop)


def literal_places(wanted: str, text: str) -> Iterator[Place]:
    """Give each place where a text stands in another as it is."""
    yield from (Place(start, start + len(wanted)) for start in _starts(wanted, text))


def folded_places(wanted: str, text: str) -> Iterator[Place]:
    """Give each place where the letters of a text stand in another; of no letters, none."""
    letters = fold(wanted)
    yield from (unfold(text, start, start + len(letters)) for start in _starts(letters, fold(text)))


def _starts(wanted: str, text: str) -> Iterator[int]:
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def cuts_word(text: str, place: Place) -> bool:
    """Say whether a place begins or ends inside a word; never in scripts without spaces."""
    return _is_inside_word(text, place.start) or _is_inside_word(text, place.end)


def whole_words(text: str, place: Place) -> Place:
    """Return a place widened to the borders of the words that it cuts."""
    start, end = place
    while _is_inside_word(text, start):
        start -= 1
    while _is_inside_word(text, end):
        end += 1
    return Place(start, end)


def _is_inside_word(text: str, place: int) -> bool:
    around = text[place - 1 : place + 1] if place else ""
    return len(around) == 2 and all(one.isalnum() and ord(one) < UNSPACED for one in around)
