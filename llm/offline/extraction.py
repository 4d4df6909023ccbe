"""The offline extractor: candidate memories by rules, no model, the same for the same dialogue."""

from collections.abc import Mapping
from typing import Any

from llm.offline.extraction_messages import sentences, user_texts
from llm.offline.extraction_statements import statements
from llm.offline.extraction_subjects import subjects

ITEMS, ITEMS_OF_A_LABEL = 12, 3
REQUESTED = "Preferences/Interaction_Preferences"
TOLD, WEAK = 2, 0.50
"""Who tells two things of themselves needs no weak guess at what they are curious about."""


def extract(input: Mapping[str, Any]) -> dict[str, Any]:
    """Return candidate memories of a dialogue's user, at most 12 and at most 3 of a label.

    Args:
        input: `dialogue`, a list of {index, role, text}, and `language`, an English name such as "Spanish".
    """
    language = str(input.get("language") or "English")
    texts = user_texts(input["dialogue"])
    said = list(statements(sentences(texts), language))
    personal = sum(not item["label"].startswith(REQUESTED) for item in said)
    inferred = [item for item in subjects(texts, language) if personal < TOLD or item["confidence"] > WEAK]
    return {"memory_items": _kept([*said, *inferred])}


def _kept(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop repeats: of one value, of one evidence under one label, of a value that another spells out."""
    seen: set[tuple[str, str]] = set()
    of_label: dict[str, int] = {}
    kept = []
    for item in items:
        keys = {(item["label"], item["value"].lower()), (item["label"], item["evidence_text"])}
        is_vaguer = any(
            other["label"] == item["label"] and other["value"].startswith(item["value"] + " ") for other in items
        )
        if (
            seen & keys
            or is_vaguer
            or (item["type"] == "direct" and of_label.get(item["label"], 0) >= ITEMS_OF_A_LABEL)
        ):
            continue
        seen |= keys
        of_label[item["label"]] = of_label.get(item["label"], 0) + 1
        kept.append(item)
    direct = [item for item in kept if item["type"] == "direct"][: ITEMS - 2]
    return direct + [item for item in kept if item["type"] == "indirect"][: ITEMS - len(direct)]
