"""Matches predicted memories with gold ones, one to one, and scores the match: tasks 1 and 2.

Source: AlpsBench (2026), in the closest reading found of its published scores: the Hungarian assignment, the
difflib ratio of (predicted, gold) without its junk heuristic, labels split at "/" before their segments are
normalised, punctuation read as spaces, and the threshold compared with a tolerance.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
from scipy.optimize import linear_sum_assignment

THRESHOLD = 0.30
TOLERANCE = 1e-9
LABEL_WEIGHT, VALUE_WEIGHT, TYPE_WEIGHT, CONFIDENCE_WEIGHT = 0.40, 0.40, 0.10, 0.10
TOKEN_WEIGHT, SEQUENCE_WEIGHT = 0.60, 0.40
QUALITY_WEIGHT, F1_WEIGHT = 0.60, 0.40
CONFIDENCE_SLACK = 0.20

_PUNCTUATION = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class Memory:
    """What the match sees of one memory: type, label path, statement, and confidence from 0 to 1."""

    type: str
    label: str
    value: str
    confidence: float


@dataclass(frozen=True)
class Pair:
    """A predicted memory matched with a gold one: their positions and their pair score, 0 to 1."""

    predicted: int
    gold: int
    score: float


@dataclass(frozen=True)
class Match:
    """A whole match: its pairs; precision, recall, F1 and quality from 0 to 1; the score from 0 to 100."""

    pairs: tuple[Pair, ...]
    precision: float
    recall: float
    f1: float
    quality: float
    score: float


def match(predicted: Sequence[Memory], gold: Sequence[Memory]) -> Match:
    """Match predicted memories with gold ones so that the pair scores add up to the most.

    When both sides are empty there was nothing to remember and nothing was claimed: that is right, 100. When
    only one is, the score is 0.
    """
    if not predicted and not gold:
        return Match((), 1.0, 1.0, 1.0, 1.0, 100.0)
    if not predicted or not gold:
        return Match((), 0.0, 0.0, 0.0, 0.0, 0.0)
    pairs = _assign(predicted, gold)
    precision, recall = len(pairs) / len(predicted), len(pairs) / len(gold)
    f1 = 2 * len(pairs) / (len(predicted) + len(gold))
    quality = sum(pair.score for pair in pairs) / len(pairs) if pairs else 0.0
    score = 100 * (QUALITY_WEIGHT * quality + F1_WEIGHT * f1)
    return Match(pairs, precision, recall, f1, quality, score)


def pair_score(predicted: Memory, gold: Memory) -> float:
    """Score how alike two memories are, 0 to 1: 0.40 label, 0.40 value, 0.10 type and 0.10 confidence."""
    return _pair_score(predicted, gold, _matcher(gold.value))


def label_similarity(predicted: str, gold: str) -> float:
    """Return twice the number of common leading segments over the number of segments of both paths."""
    a, b = _segments(predicted), _segments(gold)
    common = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return 2 * common / (len(a) + len(b)) if a or b else 1.0


def value_similarity(predicted: str, gold: str) -> float:
    """Return 0.6 times the token Jaccard similarity plus 0.4 times the difflib ratio."""
    return _value_similarity(predicted, gold, _matcher(gold))


def confidence_score(predicted: float, gold: float) -> float:
    """Return 1 while the two differ by at most 0.2, then fall linearly to 0 at a difference of 1."""
    excess = abs(predicted - gold) - CONFIDENCE_SLACK
    return 1.0 if excess <= TOLERANCE else max(0.0, 1.0 - excess / (1.0 - CONFIDENCE_SLACK))


def _assign(predicted: Sequence[Memory], gold: Sequence[Memory]) -> tuple[Pair, ...]:
    """Assign first and refuse the pairs below the threshold after: that is what the published scores did."""
    columns = [[_pair_score(p, g, matcher) for p in predicted] for g in gold for matcher in [_matcher(g.value)]]
    scores = np.array(columns).T
    assigned = zip(*linear_sum_assignment(scores, maximize=True), strict=True)
    pairs = (Pair(int(i), int(j), float(scores[i, j])) for i, j in assigned)
    return tuple(pair for pair in pairs if pair.score >= THRESHOLD - TOLERANCE)


def _pair_score(predicted: Memory, gold: Memory, matcher: SequenceMatcher[str]) -> float:
    return (
        LABEL_WEIGHT * label_similarity(predicted.label, gold.label)
        + VALUE_WEIGHT * _value_similarity(predicted.value, gold.value, matcher)
        + TYPE_WEIGHT * (_normalise(predicted.type) == _normalise(gold.type))
        + CONFIDENCE_WEIGHT * confidence_score(predicted.confidence, gold.confidence)
    )


def _value_similarity(predicted: str, gold: str, matcher: SequenceMatcher[str]) -> float:
    a, b = _normalise(predicted), _normalise(gold)
    if a == b:
        return 1.0
    matcher.set_seq1(a)
    return TOKEN_WEIGHT * _token_jaccard(a, b) + SEQUENCE_WEIGHT * matcher.ratio()


def _matcher(gold: str) -> SequenceMatcher[str]:
    """Make the matcher of one gold value, which indexes it once for all the predicted ones."""
    return SequenceMatcher(None, "", _normalise(gold), autojunk=False)


def _token_jaccard(a: str, b: str) -> float:
    tokens_a, tokens_b = set(a.split()), set(b.split())
    return len(tokens_a & tokens_b) / len(tokens_a | tokens_b)


@lru_cache(maxsize=4096)
def _segments(label: str) -> tuple[str, ...]:
    return tuple(segment for part in label.split("/") if (segment := _normalise(part)))


@lru_cache(maxsize=65536)
def _normalise(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", text.lower()).split())
