"""Infers what a user keeps asking about: messages that share a subject make one memory."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from llm.offline.extraction_messages import prose
from llm.offline.extraction_terms import Patterns, best_request, key_phrases, patterns, terms

REPEATED, STRONG = 3, 5
SUBJECTS, MESSAGES_COUNTED = 2, 60
READ_CHARACTERS, EVIDENCE_CHARACTERS = 400, 200
REQUESTS_TRIED = 5


@dataclass(frozen=True)
class Request:
    """One user message: its number, its opening, and the terms it names."""

    message: int
    text: str
    terms: frozenset[str]
    is_asking: bool
    is_continuing: bool


def subjects(texts: list[str], language: str) -> Iterator[dict[str, Any]]:
    """Yield a memory for each subject of at least three messages, the widest first; else a weak one."""
    found = patterns(language)
    left = [request for request in _requests(texts, found) if request.is_asking or request.is_continuing]
    for turn in range(SUBJECTS):
        group = _widest(left)
        if len(group) < REPEATED:
            if turn == 0 and len(left) >= REPEATED and sum(bool(request.terms) for request in left) > 1:
                yield from _memory(group or left, found, _confidence_of_questions(left))
            return
        yield from _memory(group, found, 0.80 if len(group) >= STRONG else 0.65)
        taken = {request.message for request in group}
        left = [request for request in left if request.message not in taken]


def _confidence_of_questions(requests: list[Request]) -> float:
    """Questions that only follow one another are taken for one subject; other requests hint at it weakly."""
    questions = sum(re.search(r"[?？]", request.text) is not None for request in requests)
    return 0.65 if questions >= REPEATED and 2 * questions > len(requests) else 0.50


def _requests(texts: list[str], found: Patterns) -> list[Request]:
    requests = []
    for message, text in enumerate(texts[:MESSAGES_COUNTED]):
        parts = prose(text)
        if parts:
            opening = parts[0][:READ_CHARACTERS]
            is_asking = bool(found.request.search(opening)) or found.asks_by_default(opening)
            is_continuing = bool(found.continuing.match(opening))
            requests.append(Request(message, opening, terms(opening, found), is_asking, is_continuing))
    return requests


def _widest(requests: list[Request]) -> list[Request]:
    """Return the messages that name the term most messages name, with those that only say "go on"."""
    counts = Counter(term for request in requests for term in request.terms)
    if not counts or max(counts.values()) < 2:
        return []
    seed = max(counts, key=lambda term: (counts[term], len(term), term))
    group, was_inside = [], False
    for request in requests:
        was_inside = seed in request.terms or (request.is_continuing and was_inside)
        if was_inside:
            group.append(request)
    return group


def _memory(group: list[Request], found: Patterns, confidence: float) -> Iterator[dict[str, Any]]:
    counts = Counter(term for request in group for term in request.terms)
    named = [request for request in group if not request.is_continuing] or group
    central = sorted(named, key=lambda request: (-sum(counts[t] for t in request.terms), request.message))
    subjects = ((request, best_request(request.text, counts, found)) for request in central[:REQUESTS_TRIED])
    best, subject = next((pair for pair in subjects if pair[1]), (central[0], None))
    is_shared = any(count > 1 for count in counts.values())
    openings = [request.text for request in (named if is_shared else named[:1])]
    subject = subject or ", ".join(key_phrases(openings, counts, found))
    if subject:
        frame = found.frames[_kind(named, found)]
        yield {
            "type": "indirect",
            "label": frame["label"],
            "label_suggestion": frame.get("label_suggestion"),
            "value": frame[found.wording].format(subject),
            "confidence": confidence,
            "evidence_text": best.text.strip().split("\n")[0][:EVIDENCE_CHARACTERS].strip(),
        }


def _kind(group: list[Request], found: Patterns) -> str:
    """Return the kind that at least half of the messages are of, the most particular first."""
    for kind, pattern in found.kinds.items():
        if 2 * sum(pattern.search(request.text) is not None for request in group) >= len(group):
            return kind
    return "question"
