"""The lexical leak check: does a query give its memory away by its words?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from llm.words import leak_share, leaked_words


class Limits(NamedTuple):
    """How much a query may share: that many stems, and less than that share (0 to 1) of the value's stems."""

    maximum_words: int
    maximum_share: float


@dataclass(frozen=True)
class Leak:
    """The stems that a query shares with a memory, and the share (0 to 1) of the value's stems among them."""

    words: Sequence[str]
    share: float
    leaks: bool


def lexical_leak(query: str, value: str, evidence: str, language: str | None, limits: Limits) -> Leak:
    """Compare the content words of a query with those of a memory's value and evidence."""
    words = leaked_words(query, value, evidence, language=language or "")
    share = leak_share(query, value, language or "")
    leaks = len(words) > limits.maximum_words or share >= limits.maximum_share
    return Leak(words, share, leaks)
