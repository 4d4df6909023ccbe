"""What a validator is asked of a dialogue: windows of it, each with the candidates whose evidence stands there."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm.gateway import Request
from llm.tokens import expected_tokens
from stages.evidence import Span
from stages.windows import Window, halves_of, windows_of

SHOWN = ("number", "type", "label", "label_suggestion", "value", "confidence", "evidence_text")
CANDIDATES_PART = 2
"""Candidates take at most this part, the half, of what an input has room for; more of them are asked about apart."""


@dataclass(frozen=True)
class Candidate:
    """A row of `candidate_memories`, and where its evidence stands in the dialogue."""

    row: Mapping[str, Any]
    span: Span | None

    @property
    def shown(self) -> dict[str, Any]:
        """What a validator sees of it."""
        return {name: self.row[name] for name in SHOWN}


@dataclass(frozen=True)
class Check:
    """Some candidates, to be checked against a window of their dialogue."""

    subject: str
    language: str | None
    window: Window
    candidates: tuple[Candidate, ...]

    @property
    def request(self) -> Request:
        """What a validator is asked."""
        dialogue = [piece.shown for piece in self.window]
        candidates = [candidate.shown for candidate in self.candidates]
        return Request(self.subject, {"language": self.language, "dialogue": dialogue, "candidates": candidates})


def checks_of(check: Check, turns: Sequence[Mapping[str, str]], room: int | None) -> list[Check]:
    """Cut the check of a whole dialogue into checks that have room in an input; each candidate is in one of them.

    Args:
        check: All candidates; its window is not looked at.
        turns: The dialogue.
        room: The estimated tokens that there are for window and candidates; None where nothing limits them.
    """
    if room is None:
        return [replace(check, window=window) for window in windows_of(turns, None)]
    most = room // CANDIDATES_PART
    windows = windows_of(turns, room - min(_tokens(check.candidates), most))
    return [one for windowed in _shared_out(check, windows) for one in _fitting(windowed, most)]


def smaller_checks(check: Check, status: str) -> list[Check]:
    """Return the checks that a check without an answer is made again in, by how it ended; none where it is final."""
    if status == "too_long" and (halves := halves_of(check.window, cuts_message=True)):
        return _shared_out(check, halves)
    return _halves(check) if status in ("truncated", "too_long") else []


def _shared_out(check: Check, windows: Sequence[Window]) -> list[Check]:
    """Give each candidate to the first window that holds most of its evidence, or to the first of all."""
    shares: list[list[Candidate]] = [[] for _ in windows]
    for candidate in check.candidates:
        held = [_held(window, candidate.span) for window in windows]
        shares[held.index(max(held))].append(candidate)
    return [
        replace(check, window=window, candidates=tuple(share))
        for window, share in zip(windows, shares, strict=True)
        if share
    ]


def _held(window: Window, span: Span | None) -> int:
    """Return how many characters of a span a window holds; pieces of one message do not overlap in it."""
    if span is None:
        return 0
    ends = [(piece.start, piece.start + len(piece.text)) for piece in window if piece.index == span.message]
    return sum(max(0, min(end, span.end) - max(start, span.start)) for start, end in ends)


def _fitting(check: Check, most: int) -> Iterator[Check]:
    halves = _halves(check) if _tokens(check.candidates) > most else []
    if not halves:
        yield check
    for half in halves:
        yield from _fitting(half, most)


def _halves(check: Check) -> list[Check]:
    middle = (len(check.candidates) + 1) // 2
    if len(check.candidates) < 2:
        return []
    return [replace(check, candidates=half) for half in (check.candidates[:middle], check.candidates[middle:])]


def _tokens(candidates: Sequence[Candidate]) -> int:
    return expected_tokens(json.dumps([one.shown for one in candidates], ensure_ascii=False))
