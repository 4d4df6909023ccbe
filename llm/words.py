"""Content words of a text in any language, and how many of them a query gives away."""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import get_ident
from typing import NamedTuple

import stopwordsiso
from Stemmer import Stemmer, algorithms

LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# Thai, Lao, Burmese, Khmer, kana, Han: scripts without spaces between words; and Hangul, whose particles
# stick to the word. They are read as runs of two characters.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
MARKS = "".join(chr(c) for c in range(0x300, 0xE00) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
LETTERS = rf"(?:[^\W_{UNSPACED}]|[{MARKS}])+"
PIECE = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|{LETTERS}(?:['’]{LETTERS})*")


class Word(NamedTuple):
    """A content word: its stem, and where it stands in the text."""

    stem: str
    start: int
    end: int


def locate_content_words(text: str, language: str) -> Iterator[Word]:
    """Yield the content words of `text` in order; `language` is a name such as "Spanish"."""
    name = language.strip().lower()
    code = LISTS["codes"].get(name, "en")
    for piece in PIECE.finditer(text):
        if piece["unspaced"]:
            yield from _unspaced_words(piece[0], piece.start(), code)
        else:
            yield from _spaced_words(piece[0], piece.start(), code, name)


@lru_cache(maxsize=4096)
def content_words(text: str, language: str) -> frozenset[str]:
    """Return the stems of all words of `text` that are no stop words; numbers count."""
    return frozenset(word.stem for word in locate_content_words(text, language))


def leaked_words(query: str, *texts: str, language: str) -> list[str]:
    """Return, sorted, the content words that `query` shares with any of `texts`."""
    asked = content_words(query, language)
    return sorted({word for text in texts for word in asked & content_words(text, language)})


def leak_share(query: str, value: str, language: str) -> float:
    """Return which share (0..1) of the content words of `value` stands in `query`."""
    words = content_words(value, language)
    return len(words & content_words(query, language)) / len(words) if words else 0.0


def _spaced_words(piece: str, start: int, code: str, name: str) -> Iterator[Word]:
    word = unicodedata.normalize("NFKC", piece).casefold().replace("’", "'")
    stops = _stop_words(code)
    if word in stops and not word.isdigit():
        return
    for part in re.finditer(r"[^'’]+", piece):
        word = unicodedata.normalize("NFKC", part[0]).casefold()
        if word.isdigit() or (len(word) > 1 and word not in stops):
            yield Word(_stem(word, name), start + part.start(), start + part.end())


def _unspaced_words(run: str, start: int, code: str) -> Iterator[Word]:
    """Cut the run at stop words; each rest gives its 2-character runs, or its one character."""
    cuts = [(0, 0), *(stop.span() for stop in _stop_run(code).finditer(run)), (len(run), len(run))]
    for (_, left), (right, _) in zip(cuts, cuts[1:], strict=False):
        for first in range(left, max(right - 1, min(left + 1, right))):
            last = min(first + 2, right)
            yield Word(unicodedata.normalize("NFKC", run[first:last]), start + first, start + last)


@lru_cache(maxsize=64)
def _stop_words(code: str) -> frozenset[str]:
    """Return the stop words of the language and the English ones, which stand in texts of any."""
    words = set(stopwordsiso.stopwords(code)) | set(LISTS["more_stop_words"].get(code, "").split())
    words -= set(LISTS["content_after_all"].get(code, "").split())
    return frozenset(words) if code == "en" else _stop_words("en") | words


@lru_cache(maxsize=64)
def _stop_run(code: str) -> re.Pattern[str]:
    """Match a stop word inside an unspaced run, the longest first; Chinese ones always count."""
    words = _stop_words("zh") | (_stop_words(code) if code in ("ja", "ko", "th") else frozenset())
    unspaced = [word for word in words if re.fullmatch(f"[{UNSPACED}]+", word)]
    return re.compile("|".join(sorted(unspaced, key=lambda word: (-len(word), word))))


@lru_cache(maxsize=65536)
def _stem(word: str, name: str) -> str:
    return str(_stemmer(name, get_ident()).stemWord(word))


@lru_cache(maxsize=64)
def _stemmer(name: str, thread: int) -> Stemmer:
    """Return a stemmer of this thread's own: they must not be shared."""
    return Stemmer(name if name in algorithms() else "english")
