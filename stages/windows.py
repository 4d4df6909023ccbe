"""Cuts a dialogue that is too long for a model into windows, and merges what was found in them."""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

from llm.tokens import expected_tokens
from stages.folding import fold

OVERLAP_MESSAGES = 2
"""How many messages a window repeats of the one before it."""
OVERLAP_PART = 4
"""What is repeated takes at most the fourth part of a window; of a longer message only the end is repeated."""
LEAST_TOKENS = 128
"""A window is given at least so many tokens: in fewer hardly a sentence would fit."""


@dataclass(frozen=True)
class Piece:
    """A message, or a part of one: `start` is the character of the message with which it begins."""

    index: int
    role: str
    text: str
    start: int = 0

    @property
    def shown(self) -> dict[str, Any]:
        """What a model sees of it. Parts of one message have the same index."""
        return {"index": self.index, "role": self.role, "text": self.text}

    @cached_property
    def tokens(self) -> int:
        """The estimated tokens that it takes in an input."""
        return expected_tokens(json.dumps(self.shown, ensure_ascii=False) + ", ")

    def before(self, cut: int) -> "Piece":
        """Return the part before a character of its text."""
        return replace(self, text=self.text[:cut])

    def after(self, cut: int) -> "Piece":
        """Return the part from a character of its text on."""
        return replace(self, text=self.text[cut:], start=self.start + cut)


Window: TypeAlias = tuple[Piece, ...]


def as_window(turns: Sequence[Mapping[str, str]]) -> Window:
    """Return a dialogue as one window, each message with its index from 0."""
    return tuple(Piece(index, turn["role"], turn["text"]) for index, turn in enumerate(turns))


def tokens_of(window: Window) -> int:
    """Return the estimated tokens of a window, which are never fewer than those of its text as one."""
    return sum(piece.tokens for piece in window)


def windows_of(turns: Sequence[Mapping[str, str]], most_tokens: int | None) -> list[Window]:
    """Cut a dialogue into windows of at most so many estimated tokens; one where it fits, or where nothing limits it.

    Windows are cut between messages, and each begins with the end of the one before it. A message that finds no room
    beside that is cut into pieces, at white space where there is some near, which together are the message.
    """
    messages = as_window(turns)
    if most_tokens is None or tokens_of(messages) <= max(most_tokens, LEAST_TOKENS):
        return [messages]
    return list(_windows(messages, max(most_tokens, LEAST_TOKENS)))


def _windows(messages: Window, most: int) -> Iterator[Window]:
    repeated = most // OVERLAP_PART
    window: Window = ()
    for piece in (piece for message in messages for piece in _cut(message, most - repeated)):
        if tokens_of((*window, piece)) > most:
            yield window
            window = _end_of(window, repeated)
        window = (*window, piece)
    yield window


def _cut(piece: Piece, most: int) -> Iterator[Piece]:
    while piece.tokens > most:
        lengths = range(1, len(piece.text))
        length = max(1, bisect_right(lengths, most, key=lambda length: piece.before(length).tokens))
        cut = max(piece.text.rfind(space, length // 2, length) for space in ("\n", " ")) + 1 or length
        yield piece.before(cut)
        piece = piece.after(cut)
    yield piece


def _end_of(window: Window, most: int) -> Window:
    """Return the last messages of a window that fit into so many tokens; if none does, the end of the last."""
    for start in range(-OVERLAP_MESSAGES, 0):
        if tokens_of(window[start:]) <= most:
            return window[start:]
    last = window[-1]
    cut = bisect_left(range(len(last.text)), -most, key=lambda cut: -last.after(cut).tokens)
    return (last.after(cut),)


def halves_of(window: Window, *, cuts_message: bool = False) -> tuple[Window, ...]:
    """Cut a window in two where its halves are most alike in tokens; a single message only on demand."""
    if len(window) > 1:
        cut = min(range(1, len(window)), key=lambda cut: abs(tokens_of(window[:cut]) - tokens_of(window[cut:])))
        return window[:cut], window[cut:]
    if cuts_message and tokens_of(window) > LEAST_TOKENS:
        return tuple((piece,) for piece in _cut(window[0], window[0].tokens // 2 + 1))
    return ()


class Found(Protocol):
    """What merging asks of a thing that was found in a window."""

    @property
    def label(self) -> str | None: ...
    @property
    def value(self) -> str: ...
    @property
    def evidence_text(self) -> str: ...


Item = TypeVar("Item", bound=Found)


def merged(found: Sequence[Sequence[Item]]) -> list[Item]:
    """Return what was found in the windows, in their order, without what an earlier window gave.

    The same is what has the same label and value, or label and evidence, white space, case and punctuation aside: of
    what rests on one evidence, as much is kept as the window gave that made most of it.
    """
    kept: list[Item] = []
    values: set[tuple[str | None, str]] = set()
    rested: Counter[tuple[str | None, str]] = Counter()
    for items in found:
        here: Counter[tuple[str | None, str]] = Counter()
        new = set()
        for item in items:
            value, evidence = (item.label, fold(item.value)), (item.label, fold(item.evidence_text))
            new.add(value)
            here[evidence] += bool(evidence[1])
            if value not in values and (not evidence[1] or here[evidence] > rested[evidence]):
                kept.append(item)
        values |= new
        rested |= here
    return kept
