"""The lexical leak check: does a query give its memory away by its words?"""

from collections.abc import Sequence
from dataclasses import dataclass

from llm.words import leak_share, leaked_words


@dataclass(frozen=True)
class Leak:
    """The stems that a query shares with a memory, and the share (0 to 1) of the value's stems among them."""

    words: Sequence[str]
    share: float
    leaks: bool


def lexical_leak(
    query: str, value: str, evidence: str, language: str, *, maximum_words: int, maximum_share: float
) -> Leak:
    """Compare the content words of a query with those of a memory's value and evidence.

    It leaks with more than `maximum_words` shared stems, or at least `maximum_share` of the value's.
    """
    words = leaked_words(query, value, evidence, language=language)
    share = leak_share(query, value, language)
    return Leak(words, share, len(words) > maximum_words or share >= maximum_share)
