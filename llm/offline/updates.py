"""New dialogues of the offline model: noise, one new memory, and one change of a known memory."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm.offline.queries import draw_order, template_language, tidy
from llm.words import content_words

TEMPLATES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SHORT = {"English": 60, "Chinese": 24, "Spanish": 60}  # characters of a quoted memory
CLAUSE_ENDS = ",;:([，；：（。"
ALIKE = 0.2  # content words that two values share, as Jaccard similarity
SETTLED = ("Personal_Background", "Possessions", "Social_Relationships")  # a change there is stable: 0.95


def write_segments(input: Mapping[str, Any]) -> dict[str, Any]:
    """Write the three segments of a new dialogue.

    Args:
        input: `memory` (the conflict target: memory_id, label and value), `existing` (values of the other
            memories of the user), `language`, and `noise_turns` (messages of noise, an even number).

    Returns:
        `noise` (messages), and `update` and `conflict`, each with `dialogue` (messages) and `memory` (type,
        label, value, confidence, and evidence_text as it stands in a user message). Texts are in `language`
        where there are templates in it, else in English.
    """
    memory, language = input["memory"], template_language(input["language"])
    known = [memory["value"], *input["existing"]]
    return {
        "noise": _write_noise(memory["memory_id"], language, input["noise_turns"]),
        "update": _write_update(memory, known, language),
        "conflict": _write_conflict(memory, known, language),
    }


def shorten(value: str, language: str) -> str:
    """Return the first clause of a value, cut between words where it is long, to be quoted."""
    text, limit = tidy(value), SHORT[language]
    ends = [place for place, character in enumerate(text) if character in CLAUSE_ENDS and place >= limit // 4]
    clause = text[: min(ends, default=len(text))].rstrip()
    if len(clause) <= limit:
        return clause
    cut = clause[:limit]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip() + "…"


def _write_noise(memory_id: str, language: str, turns: int) -> list[dict[str, str]]:
    """Mix questions with one to three facts that are not about the user; repeat only when all are used."""
    templates, exchanges = TEMPLATES["noise"][language], (turns + 1) // 2
    facts = dict(templates["facts"])
    questions = dict(templates["questions"])
    count = min(int(draw_order(("1", "2", "3"), memory_id, "facts")[0]), max(exchanges - 1, 0))
    drawn = draw_order(tuple(facts), memory_id, "noise")[:count]
    order = draw_order(tuple(questions), memory_id, "noise")
    drawn += [order[place % len(order)] for place in range(exchanges - count)]
    places = draw_order([str(place) for place in range(exchanges)], memory_id, "places")
    texts = [text for place in places for text in (drawn[int(place)], (facts | questions)[drawn[int(place)]])]
    return _messages(texts[: max(turns, 0)])


def _write_update(memory: Mapping[str, Any], known: Sequence[str], language: str) -> dict[str, Any]:
    """Bring a memory of another label than the target, unlike the known ones, and indirect if it can be."""
    blocks = TEMPLATES["updates"][language]
    names = [f"{place}/{choice}" for place, block in enumerate(blocks) for choice in block["choices"]]
    drawn = [name.split("/", 1) for name in draw_order(names, memory["memory_id"], "update")]
    filled = [_fill(blocks[int(place)], choice) for place, choice in drawn]

    def drawback(update: dict[str, Any]) -> tuple[bool, bool, bool]:
        new = update["memory"]
        alike = _likeness(new["value"], known, language) > ALIKE
        return new["label"] == memory["label"], alike, new["type"] == "direct"

    return min(filled, key=drawback)


def _fill(block: Mapping[str, Any], choice: str) -> dict[str, Any]:
    """Fill an update's template with one of its choices."""
    evidence = block["evidence"].replace("{x}", choice)
    return {
        "dialogue": _messages([turn.replace("{evidence}", evidence) for turn in block["turns"]]),
        "memory": {
            "type": block["type"],
            "label": block["label"],
            "value": block["value"].replace("{x}", choice),
            "confidence": block["confidence"],
            "evidence_text": evidence,
        },
    }


def _write_conflict(memory: Mapping[str, Any], known: Sequence[str], language: str) -> dict[str, Any]:
    """Let the user take the target back and say what is so now."""
    label, memory_id = memory["label"], memory["memory_id"]
    changes = dict(TEMPLATES["changes"].get(label, TEMPLATES["changes"]["UNMAPPED"])[language])
    order = draw_order(tuple(changes), memory_id, "change")
    says = min(order, key=lambda change: _likeness(changes[change], known, language))
    domain = label.split("/")[0]
    asks = TEMPLATES["asks"].get(domain, TEMPLATES["asks"]["UNMAPPED"])[language]
    ask = draw_order(asks, memory_id, "ask")[0]
    frames = {"\n".join(frame): frame for frame in TEMPLATES["frames"][language]}
    frame = frames[draw_order(tuple(frames), memory_id, "frame")[0]]
    old = shorten(memory["value"], language)
    # The quoted value comes last: it is the user's text, and may hold a placeholder.
    turns = [turn.replace("{ask}", ask).replace("{says}", says).replace("{old}", old).strip() for turn in frame]
    return {
        "dialogue": _messages(turns),
        "memory": {
            "type": "direct",
            "label": label,
            "value": changes[says],
            "confidence": 0.95 if domain in SETTLED else 0.80,
            "evidence_text": says,
        },
    }


def _likeness(value: str, known: Sequence[str], language: str) -> float:
    """Return the highest Jaccard similarity (0..1) of content words between the value and a known one."""
    words = content_words(value, language)
    return max(
        (
            len(words & other) / len(words | other)
            for other in (content_words(text, language) for text in known)
            if words | other
        ),
        default=0.0,
    )


def _messages(texts: Sequence[str]) -> list[dict[str, str]]:
    """Give the texts to the user and the assistant in turn."""
    return [{"role": ("user", "assistant")[place % 2], "text": text} for place, text in enumerate(texts)]
