"""Takes a quotation apart as models write them: whole, cut by ellipses, or several in one."""

import ast
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+)\s*")
PIECE_CHARACTERS = 12
"""A piece of a cut quotation counts from this length on: shorter ones stand everywhere."""
PARTS = re.compile(
    r"""\.{3,}|[…\n;；|。！？"“”„«»「」『』]     # between quotations, and after sentences of Chinese and Japanese
    |(?<=[.!?])\s+                               # after sentences
    |\s/\s                                       # between quotations
    |(?<!\w)['‘]|['’](?!\w)                      # quotes that are no apostrophes
    """,
    re.VERBOSE,
)
EDGES = re.compile(r"^\W+|\W+$")
LIST = re.compile(r"""\[\s*["'“‘«「]""")
BETWEEN_ITEMS = re.compile(r"""(?<!\\)["'”’»」]\s*,\s*["'“‘«「]""")


class Quotation(NamedTuple):
    """A quotation whole, in its pieces between ellipses, and in its smallest parts; the longest first."""

    wholes: tuple[str, ...]
    pieces: tuple[str, ...]
    parts: tuple[str, ...]


def read_quotation(text: str) -> Quotation:
    """Read what a model gave as evidence; a list of one quotation is that quotation, of several each is a piece."""
    wanted = text.strip()
    items = [item for item in map(str.strip, items_of(wanted)) if item]
    wholes = [wanted, *items] if len(items) == 1 else [wanted]
    pieces = [piece for item in items or [wanted] for piece in ELLIPSIS.split(item)]
    parts = [part for item in items or [wanted] for part in PARTS.split(item)]
    return Quotation(tuple(dict.fromkeys(filter(None, wholes))), _longest(pieces), _longest(parts))


def items_of(text: str) -> list[str]:
    """Return the texts of a list in JSON or Python; of one that is cut, those that are left; of no list, none."""
    if not LIST.match(text):
        return []
    for read in (json.loads, ast.literal_eval):
        try:
            return [item for item in read(text) if isinstance(item, str)]
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return BETWEEN_ITEMS.split(LIST.sub("", text, count=1))


def _longest(pieces: Iterable[str]) -> tuple[str, ...]:
    bare = {EDGES.sub("", piece) for piece in pieces}
    return tuple(sorted((one for one in bare if len(one) >= PIECE_CHARACTERS), key=lambda one: (-len(one), one)))
