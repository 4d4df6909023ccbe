"""The labels, types and confidences of a memory, and how others' spellings are brought to them."""

import difflib
import re
from functools import cache

_ASPECTS = {
    "Personal_Background": ("Identity", "Education", "Occupation", "Location"),
    "States_Experiences": ("Physical_State", "Mental_State", "Past_Experience"),
    "Possessions": ("Important_Items", "Pet", "House", "Car"),
    "Preferences": (
        *("Food", "Entertainment", "Sports", "Reading", "Music", "Travel_Mode", "Shopping"),
        "Interaction_Preferences",
    ),
    "Thoughts": (*("Opinions/Positive", "Opinions/Negative", "Curiosity", "Goals/Short_Term", "Goals/Long_Term"),),
    "Plans": ("Schedule", "Commitments"),
    "Social_Relationships": ("Family", "Friends", "Colleagues", "Partners", "Adversarial"),
    "Constraints_and_Boundaries": ("Disliked_Topics", "Sensitive_Topics", "Do_Not_Remember"),
}
LABELS = tuple(f"{domain}/{aspect}" for domain, aspects in _ASPECTS.items() for aspect in aspects)
UNMAPPED = "UNMAPPED"
TYPES = ("direct", "indirect")
CONTEXTS = ("self", "role_play", "translation", "for_others")
WEAK = 0.50
REJECTED = 0.10
CONFIDENCES = (0.95, 0.80, 0.65, WEAK, REJECTED)
CLOSE = 0.85
"""How alike (difflib's ratio, 0 to 1) each part of a misspelt label is to that of the one it is taken for."""
RELATIVES = ("Family", "Friends", "Colleagues", "Partners")
"""Aspects of Social_Relationships that models put under Personal_Background too, meaning the same."""

_SPELLINGS = {
    **dict.fromkeys(("direct", "explicit"), "direct"),
    **dict.fromkeys(("indirect", "implicit", "implied", "inferred"), "indirect"),
}


def type_of(text: str) -> str | None:
    """Return `direct` or `indirect`, or None for a word that means neither."""
    return _SPELLINGS.get(text.strip().lower())


def confidence_of(number: float, type: str) -> float:
    """Snap a confidence to the nearest of the set; nothing indirect is as sure as 0.95."""
    nearest = min(CONFIDENCES, key=lambda one: (abs(one - number), one))
    return min(nearest, 0.80) if type == "indirect" else nearest


@cache
def label_of(text: str | None) -> str:
    """Return the label that is meant, or UNMAPPED.

    A label is told by its path, whatever parts it; by the end of its path, where that is one label's alone; by its path
    with more before or after it; by an aspect of two words under another domain; or by a spelling close to it.
    """
    wanted, paths = _plain(text or ""), _paths()
    for is_meant in (_is_path, _is_end, _is_within, _is_telling):
        if meant := {label for path, label in paths.items() if is_meant(wanted, path)}:
            return meant.pop() if len(meant) == 1 else UNMAPPED
    closest = max(paths, key=lambda path: _likeness(wanted, path))
    return paths[closest] if _likeness(wanted, closest) >= CLOSE else UNMAPPED


@cache
def _paths() -> dict[str, str]:
    near = {f"Personal_Background/{aspect}": f"Social_Relationships/{aspect}" for aspect in RELATIVES}
    return {_plain(path): label for path, label in [*zip(LABELS, LABELS, strict=True), *near.items()]}


def _is_path(wanted: str, path: str) -> bool:
    return wanted.replace("/", "_") == path.replace("/", "_")


def _is_end(wanted: str, path: str) -> bool:
    return bool(wanted) and path.endswith(f"/{wanted}")


def _is_within(wanted: str, path: str) -> bool:
    return f"/{path}/" in f"/{wanted}/"


def _is_telling(wanted: str, path: str) -> bool:
    """An aspect of one word means something else elsewhere: Preferences/Car is no car that the user has."""
    aspect = path.partition("/")[2]
    return any(sign in aspect for sign in "_/") and wanted.endswith(f"/{aspect}")


def _likeness(wanted: str, path: str) -> float:
    """Compare part by part: as a whole `possessions/cat` would be close to `possessions/car`."""
    pairs = list(zip(wanted.split("/"), path.split("/"), strict=False))
    if wanted.count("/") != path.count("/"):
        return 0.0
    return min(difflib.SequenceMatcher(None, one, other).ratio() for one, other in pairs)


def _plain(text: str) -> str:
    parts = (re.sub(r"[\W_]+", "_", part.strip().lower()).strip("_") for part in text.split("/"))
    return "/".join(part for part in parts if part)
