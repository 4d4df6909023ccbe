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
REJECTED = 0.10
CONFIDENCES = (0.95, 0.80, 0.65, 0.50, REJECTED)
CLOSE = 0.85
"""How alike (difflib's ratio, 0 to 1) each part of a misspelt label is to that of the one it is taken for."""

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

    A label is told by its whole path, by the end of its path where that is one label's alone, or by a
    spelling close to it.
    """
    wanted = _plain(text or "")
    paths = {_plain(label): label for label in LABELS}
    if wanted in paths:
        return paths[wanted]
    if ended := [label for path, label in paths.items() if wanted and path.endswith(f"/{wanted}")]:
        return ended[0] if len(ended) == 1 else UNMAPPED
    closest = max(paths, key=lambda path: _likeness(wanted, path))
    return paths[closest] if _likeness(wanted, closest) >= CLOSE else UNMAPPED


def _likeness(wanted: str, path: str) -> float:
    """Compare part by part: as a whole `possessions/cat` would be close to `possessions/car`."""
    pairs = list(zip(wanted.split("/"), path.split("/"), strict=False))
    if wanted.count("/") != path.count("/"):
        return 0.0
    return min(difflib.SequenceMatcher(None, one, other).ratio() for one, other in pairs)


def _plain(text: str) -> str:
    parts = (re.sub(r"[\W_]+", "_", part.strip().lower()).strip("_") for part in text.split("/"))
    return "/".join(part for part in parts if part)
