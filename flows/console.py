"""The console that commands write to."""

from rich.console import Console

WIDE = 160
"""Columns of a line where there is no terminal to ask."""


def console_for(*, stderr: bool = False) -> Console:
    """Return the console to write to; a file or pipe gets lines that are wide enough for tables."""
    console = Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else Console(stderr=stderr, emoji=False, width=WIDE)
