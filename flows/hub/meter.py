"""Keeps the hub's client off the terminal: stands in for its progress bars, and counts the bytes that come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import CRITICAL
from types import TracebackType
from typing import Any, ClassVar, Self

from huggingface_hub.utils import logging as remarks


class Meter:
    """A bar as the client makes and moves them, which shows nothing."""

    total: float | None = 0
    n = 0
    format_dict: ClassVar[dict[str, Any]] = {}

    def __init__(self, *_: Any, initial: int = 0, **__: Any) -> None:
        if initial:
            self.count(initial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return

    def count(self, size: int) -> None:
        """So many bytes were written; below zero, they have to come again."""

    def update(self, n: int | float | None = 1) -> None:
        self.count(int(n or 0))

    def _ignore(self, *_: Any, **__: Any) -> None:
        return

    # Its presence says that bytes which come are not told a second time by a bar of their own.
    update_transfer = _ignore
    set_postfix_str = set_transfer_postfix_str = _ignore
    set_description = set_description_str = _ignore
    refresh = close = _ignore


def meter_of(told: Callable[[int], object]) -> type[Meter]:
    """Make a kind of bar that tells of every byte."""

    class Telling(Meter):
        def count(self, size: int) -> None:
            told(size)

    return Telling


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the client's remarks about each attempt to itself; what comes of them is told in the end."""
    before = remarks.get_verbosity()
    remarks.set_verbosity(CRITICAL)
    try:
        yield
    finally:
        remarks.set_verbosity(before)
