"""Says why a table is built again: what it is made of now, held against what it was made of."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from flows.modules import Piece
from flows.recipe import ROLES

SHOWN = 3
"""How many names a reason lists before it counts the rest."""
CHARACTERS = 40
"""How much of a value is shown."""
RELEASE = "the recipe, the version, or the code that writes releases changed"
DIGEST = re.compile(r"[0-9a-f]{16,64}")
Values = Mapping[str, str]


def reasons(was: Sequence[Piece], now: Sequence[Piece], rebuilt: Collection[str] = ()) -> list[str]:
    """Say what differs between what a table was made of and what it is made of now.

    `rebuilt` are the tables that are built in the same plan.
    """
    told: list[str] = []
    for kind, tell in KINDS.items():
        before, after = _of(was, kind), _of(now, kind)
        if before != after:
            told += tell(before, after)
    read = _changed(_of(was, "table"), _of(now, "table"))
    if again := [name for name in read if name in rebuilt]:
        told.append(f"reads {listed(again)}, which {'is' if len(again) == 1 else 'are'} rebuilt")
    if since := [name for name in read if name not in rebuilt]:
        told.append(f"{listed(since)} changed since")
    # A release is made of all tables: where one changes, that is reason enough.
    return [one for one in told if one != RELEASE or not read] or told


def listed(names: Sequence[str]) -> str:
    """Join names, the first of them when there are many."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _of(pieces: Sequence[Piece], kind: str) -> Values:
    return {piece.name: piece.value for piece in pieces if piece.kind == kind}


def _changed(before: Values, after: Values) -> list[str]:
    return [name for name in {**after, **before} if before.get(name) != after.get(name)]


def _files(what: str) -> Callable[[Values, Values], Iterator[str]]:
    def tell(before: Values, after: Values) -> Iterator[str]:
        marks = {name: " (new)" if name not in before else " (gone)" if name not in after else "" for name in
                 _changed(before, after)}  # fmt: skip
        yield f"its {what} changed: {listed([name + mark for name, mark in marks.items()])}"

    return tell


def _libraries(before: Values, after: Values) -> Iterator[str]:
    for name in _changed(before, after):
        old, new = (one.get(name, f"{name} none").rpartition(" ")[2] for one in (before, after))
        yield f"{name} {old} → {new}"


def _knobs(before: Values, after: Values) -> Iterator[str]:
    for role in ROLES:
        was, now = (_under(role, values) for values in (before, after))
        if was != now:
            yield from _model(role, was, now)
    for name in _changed(before, after):
        if name.partition(".")[0] not in ROLES:
            yield _knob(name, before.get(name), after.get(name))


def _knob(name: str, was: str | None, now: str | None) -> str:
    if name == "source":
        return _source(was, now)
    if name == "draft":
        return RELEASE
    old, new = _shown(was), _shown(now)
    return f"{name} changed" if old == new else f"{name}: {old} → {new}"


def _shown(value: str | None) -> str:
    """Return a knob's value as a person writes it; what stands for something longer is not shown."""
    if value is None or value == "null":
        return "unset"
    plain = json.loads(value)
    text = plain if isinstance(plain, str) else value
    if DIGEST.fullmatch(text):
        return "(changed)"
    return text if len(text) <= CHARACTERS else text[:CHARACTERS] + "…"


def _source(was: str | None, now: str | None) -> str:
    before, after = ({name: rest for name, *rest in json.loads(value or "[]")} for value in (was, now))
    kinds = {
        "new": [name for name in after if name not in before],
        "changed": [name for name in after if name in before and after[name] != before[name]],
        "gone": [name for name in before if name not in after],
    }
    told = (f"{kind} {listed(names)}" for kind, names in kinds.items() if names)
    return f"the source changed: {'; '.join(told) or 'its order'}"


def _under(role: str, values: Values) -> dict[str, Any]:
    start = role + "."
    return {name.removeprefix(start): json.loads(value) for name, value in values.items() if name.startswith(start)}


def _model(role: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _name(was), _name(now)
    if old != new:
        yield f"{role}: {old} → {new}"
        return
    for part in [part for part in {**now, **was} if was.get(part) != now.get(part)]:
        if part in MODEL_PARTS:
            yield MODEL_PARTS[part].format(role=role)
        else:
            values = (_shown(None if one.get(part) is None else json.dumps(one[part])) for one in (was, now))
            yield f"{role}.{part.removeprefix('sampling.')}: {' → '.join(values)}"


def _name(model: Mapping[str, Any]) -> str:
    if not model:
        return "none"
    return "offline" if "offline" in model else f"{'recorded:' if 'recorded' in model else ''}{model.get('model')}"


MODEL_PARTS = {
    "offline": "the rules of the offline model changed",
    "recorded": "the recording of {role} changed",
    "reading": "how answers are read changed: llm/answers.py",
}
KINDS: Mapping[str, Callable[[Values, Values], Iterator[str]]] = {
    "code": _files("code"),
    "contract": _files("contract"),
    "library": _libraries,
    "knob": _knobs,
}
