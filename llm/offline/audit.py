"""The offline auditor: does a query give its memory away, judged by its words alone?"""

from collections.abc import Mapping
from typing import Any

from llm.words import content_words, leak_share, leaked_words, locate_content_words

SHARE = 0.5  # of the value's content words
WORDS = 2  # of the value's content words
RUN = 3  # content words of the evidence, copied in a row


def audit_query(input: Mapping[str, Any]) -> dict[str, Any]:
    """Audit a query against the memory that it is about.

    Args:
        input: `query` and `memory` (with value, evidence_text and language).

    Returns:
        `leaks`, `quote` (the first leaking part of the query, verbatim, or None) and `reason`.
    """
    query, memory = input["query"], input["memory"]
    value, evidence, language = memory["value"], memory["evidence_text"] or "", memory["language"]
    shared = leaked_words(query, value, language=language)
    share = leak_share(query, value, language)
    if share >= SHARE or len(shared) >= WORDS:
        reason = f"{len(shared)} content words of the value ({share:.0%}) stand in the query: {', '.join(shared)}"
        return {"leaks": True, "quote": _quote(query, set(shared), language), "reason": reason}
    copied = _copied_run(query, evidence, language)
    if copied:
        return {
            "leaks": True,
            "quote": copied,
            "reason": f"{RUN} content words of the evidence are copied in a row",
        }
    return {
        "leaks": False,
        "quote": None,
        "reason": "too few words of the value or the evidence stand in the query",
    }


def _quote(query: str, stems: set[str], language: str) -> str:
    """Return the first part of the query whose content words all leak."""
    start = end = -1
    for word in locate_content_words(query, language):
        if word.stem in stems:
            start, end = (word.start if start < 0 else start), word.end
        elif start >= 0:
            break
    return query[start:end]


def _copied_run(query: str, evidence: str, language: str) -> str | None:
    """Return the first RUN content words of the query that follow each other in the evidence too."""
    if len(content_words(query, language) & content_words(evidence, language)) < RUN:
        return None
    said = [word.stem for word in locate_content_words(evidence, language)]
    runs = {tuple(said[first : first + RUN]) for first in range(len(said) - RUN + 1)}
    asked = list(locate_content_words(query, language))
    for first in range(len(asked) - RUN + 1):
        window = asked[first : first + RUN]
        if tuple(word.stem for word in window) in runs:
            return query[window[0].start : window[-1].end]
    return None
