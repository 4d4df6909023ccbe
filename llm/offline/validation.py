"""The offline validator: judges each candidate memory by rules, and never adds or leaves out one."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm.offline.extraction_messages import user_texts
from llm.offline.validation_contexts import context_of
from llm.offline.validation_cues import Cues, cues

REJECTED = 0.10
CONFIDENCES = (0.95, 0.80, 0.65, 0.50, REJECTED)
HIGHEST_INDIRECT = 0.80
SHARED_WORDS = 0.5
"""Share of the words of a quotation that one user message must hold for the quotation to count."""
UNMAPPED = "UNMAPPED"
SUGGESTION = "General/Statement/Other"
LASTING = (
    "Personal_Background/",
    "Possessions/",
    "Preferences/",
    "Social_Relationships/",
    "Constraints_and_Boundaries/",
)
TIME_OF_LABEL = {
    "States_Experiences/Mental_State": "recent",
    "States_Experiences/Past_Experience": "past",
    "Thoughts/Curiosity": "recent",
    "Thoughts/Goals/Short_Term": "short_term",
    "Thoughts/Goals/Long_Term": "long_term",
    "Plans/Schedule": "short_term",
    "Plans/Commitments": "short_term",
}
FELT = (
    "States_Experiences/",
    "Social_Relationships/",
    "Thoughts/",
    "Plans/",
    "Possessions/Pet",
    "Constraints_and_Boundaries/",
)
MOVABLE = (
    "States_Experiences/",
    "Possessions/",
    "Social_Relationships/",
    "Plans/",
    "Thoughts/Goals/Short_Term",
    UNMAPPED,
)

_WORD = re.compile(r"[\u3040-\u9fff]|\w+")


def validate(input: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict for each candidate, under its number and in the same order.

    Args:
        input: `dialogue`, a list of {index, role, text}, and `candidates` as `extract` makes them, each
            with a `number`. Candidates of other extractors are brought into normal form.
    """
    texts = user_texts(input["dialogue"])
    return {"memories": [_verdict(candidate, texts, cues()) for candidate in input["candidates"]]}


def _verdict(candidate: Mapping[str, Any], texts: Sequence[str], found: Cues) -> dict[str, Any]:
    type = "direct" if str(candidate.get("type")).lower() in ("direct", "explicit") else "indirect"
    label, suggestion = _label(candidate, found)
    value, evidence = str(candidate.get("value") or ""), str(candidate.get("evidence_text") or "")
    message = _message_of(evidence, texts)
    plain = {"type": type, "label": label, "value": value, "evidence_text": evidence}
    is_rejected = message is None or not re.search(r"\w", value) or found.rejected.search(value) is not None
    return {
        "number": candidate["number"],
        "type": type,
        "label": label,
        "label_suggestion": suggestion,
        "value": value,
        "confidence": REJECTED if is_rejected else _confidence(candidate.get("confidence"), type),
        "emotion": _emotion(evidence if label.startswith(FELT) else value, found),
        "context": context_of(plain, texts, message, found),
        "time_scope": _time_scope(label, evidence, found),
        "preference_attitude": _attitude(label, value, found),
    }


def _label(candidate: Mapping[str, Any], found: Cues) -> tuple[str, str | None]:
    """Keep a label of the taxonomy; any other one becomes the suggestion of UNMAPPED."""
    label, suggestion = str(candidate.get("label") or ""), candidate.get("label_suggestion")
    if label in found.labels:
        return label, None
    return UNMAPPED, str(suggestion or (label if label not in ("", UNMAPPED) else SUGGESTION))


def _confidence(given: Any, type: str) -> float:
    number = float(given) if isinstance(given, int | float) and math.isfinite(given) else 0.50
    nearest = min(CONFIDENCES, key=lambda one: (abs(one - number), one))
    return min(nearest, HIGHEST_INDIRECT) if type == "indirect" else nearest


def _message_of(evidence: str, texts: Sequence[str]) -> int | None:
    """Return the first user message that holds the evidence, or the one with most of its words, or None."""
    wanted = evidence.strip()
    for number, text in enumerate(texts):
        if wanted and wanted in text:
            return number
    words = set(_WORD.findall(wanted.lower()))
    shares = [len(words & set(_WORD.findall(text.lower()))) / len(words) for text in texts if words]
    best = max(shares, default=0.0)
    return shares.index(best) if best >= SHARED_WORDS else None


def _emotion(text: str, found: Cues) -> str | None:
    for emotion, pattern in found.emotions.items():
        word = pattern.search(text)
        if word and not found.negated.search(text[: word.start()]):
            return emotion
    return None


def _time_scope(label: str, evidence: str, found: Cues) -> str:
    """Go by the words of the evidence where the label leaves it open, else by the label."""
    if label.startswith(MOVABLE):
        for scope, pattern in found.times.items():
            if pattern.search(evidence):
                return scope
    return TIME_OF_LABEL.get(label, "long_term" if label.startswith(LASTING) else "unknown")


def _attitude(label: str, value: str, found: Cues) -> str | None:
    if label == "Constraints_and_Boundaries/Disliked_Topics":
        return "dislike"
    if not label.startswith("Preferences/"):
        return None
    return "dislike" if found.dislike.search(value) else "like"
