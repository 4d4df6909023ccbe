"""Queries of the offline model: written from templates, so that no word of the memory stands in them."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from llm.words import content_words, leaked_words

TEMPLATES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
LANGUAGES = ("English", "Chinese", "Spanish")


def write_query(input: Mapping[str, Any]) -> dict[str, str]:
    """Write what the user asks in a later chat, and the sealed answer and rubric.

    Args:
        input: `ability` (retrieval, PA, PF_general, PF_interaction, VRA, CF or EI), `memory` (with memory_id,
            label, value, evidence_text, emotion and language), `attempt` (from 0: each takes another query)
            and `finding` (words that leaked so far, which the query must not contain).

    Returns:
        `query`, `reference_answer` and `rubric`, in the memory's language where there are templates in it,
        else in English. The query has the least overlap with value and evidence that a template offers.
    """
    memory, ability = input["memory"], input["ability"]
    language = template_language(memory["language"])
    queries = _compose_queries(ability, memory, language)
    ranked = sorted(queries, key=lambda query: _overlap(query, memory))
    left = ranked[min(input.get("attempt", 0), len(ranked) - 1) :]
    finding = [word for word in input.get("finding", []) if word.strip()]
    query = min(left, key=lambda query: (has_any(query, finding, memory["language"]), _overlap(query, memory)))
    value = tidy(memory["value"])
    return {
        "query": query,
        "reference_answer": TEMPLATES["references"][ability][language].replace("{value}", value),
        "rubric": TEMPLATES["rubrics"][ability][language].replace("{value}", value),
    }


def template_language(language: str) -> str:
    """Return the language of the templates for texts in `language`: itself, or English."""
    name = language.strip().capitalize()
    return name if name in LANGUAGES else "English"


def draw_order(choices: Sequence[str], *keys: str) -> list[str]:
    """Return the distinct choices in the hash order of `keys`: always the same for the same keys."""
    return sorted(dict.fromkeys(choices), key=lambda choice: sha256(repr((keys, choice)).encode()).digest())


def tidy(value: str) -> str:
    """Return the value on one line and without its full stop, to be quoted in a sentence."""
    return " ".join(value.split()).rstrip(".。 ")


def has_any(query: str, words: Sequence[str], language: str) -> bool:
    """Say whether the query contains one of the words, as it stands or by its stem."""
    spelled = set(re.findall(r"\w+", query.casefold()))
    stems = content_words(query, language)
    return any(word.casefold() in spelled | stems or (not word.isascii() and word in query) for word in words) or bool(
        leaked_words(query, *words, language=language)
    )


def _compose_queries(ability: str, memory: Mapping[str, Any], language: str) -> list[str]:
    """Return all queries for the memory in the order in which they are tried."""
    memory_id = memory["memory_id"]
    lines = draw_order(_lines(ability, memory)[language], memory_id, ability)
    if ability in ("PF_interaction", "VRA", "CF", "EI"):
        return lines
    space = "" if language == "Chinese" else " "
    return [_add_remark(line, memory, language, space) for line in lines]


def _lines(ability: str, memory: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the templates, by language, that fit the ability and the memory."""
    label = memory["label"]
    found: dict[str, list[str]]
    match ability:
        case "PF_interaction":
            found = TEMPLATES["tasks"]
        case "VRA":
            found = TEMPLATES["reality"].get(label.split("/")[0], TEMPLATES["reality"]["UNMAPPED"])
        case "CF":
            found = TEMPLATES["temptations"].get(label, TEMPLATES["temptations"]["other"])
        case "EI":
            found = TEMPLATES["feelings"][_tone(memory.get("emotion") or "")]
        case _:
            found = TEMPLATES["labels"].get(label, TEMPLATES["labels"]["UNMAPPED"])
    return found


def _add_remark(line: str, memory: Mapping[str, Any], language: str, space: str) -> str:
    """Close the line with a remark, unless that would share a word with the memory."""
    remark = draw_order(TEMPLATES["remarks"][language], memory["memory_id"], line)[0]
    return line if not remark or any(_overlap(remark, memory)) else line + space + remark


def _tone(emotion: str) -> str:
    """Return the tone of a named emotion: sad, anxious, angry, happy or other."""
    words = re.findall(r"\w+", emotion.casefold())
    for tone, stems in TEMPLATES["tones"].items():
        for stem in stems.split():
            if any(word.startswith(stem) or (not stem.isascii() and stem in word) for word in words):
                return str(tone)
    return "other"


def _overlap(query: str, memory: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many content words the query shares with the value, and with the evidence."""
    language = memory["language"]
    return (
        len(leaked_words(query, memory["value"], language=language)),
        len(leaked_words(query, memory["evidence_text"] or "", language=language)),
    )
