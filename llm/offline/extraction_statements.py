"""Finds what users say of themselves, by the patterns of statements_<language>.toml."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from llm.offline.extraction_messages import Sentence
from llm.offline.extraction_topics import topic_label
from llm.offline.extraction_wording import statement

HERE = Path(__file__).parent
DISLIKE_LABEL = "Constraints_and_Boundaries/Disliked_Topics"
REQUEST_CHARACTERS = 200
TASTE_SUGGESTION = "Preferences/General/Taste"
REQUEST_LABELS = ("Preferences/Interaction_Preferences", "Constraints_and_Boundaries/")

_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Rule:
    """One pattern and the memory it makes."""

    pattern: re.Pattern[str]
    label: str
    value: str
    confidence: float
    type: str
    dislike: bool
    is_fallback: bool
    opening: str | None

    @property
    def is_request(self) -> bool:
        """Whether it reads what the user asks of the assistant, which needs no word for the speaker."""
        return self.label.startswith(REQUEST_LABELS)


@dataclass(frozen=True)
class RuleSet:
    """The rules of one language, and what a sentence must hold to be worth matching."""

    speaker: re.Pattern[str]
    request: re.Pattern[str]
    personal: tuple[Rule, ...]
    requests: tuple[Rule, ...]
    openings: dict[str, re.Pattern[str]]

    def rules_for(self, text: str) -> Iterator[Rule]:
        """Yield the rules that a sentence can meet."""
        if self.speaker.search(text):
            missing = {name for name, opening in self.openings.items() if not opening.search(text)}
            yield from (rule for rule in self.personal if rule.opening not in missing)
        if len(text) <= REQUEST_CHARACTERS and self.request.search(text):
            yield from self.requests


def statements(sentences: Iterator[Sentence], language: str) -> Iterator[dict[str, Any]]:
    """Yield a memory for each rule that a sentence meets, in the order of sentences and rules."""
    for sentence in sentences:
        spoken = _spoken_language(sentence.plain, language)
        has_background = False
        for rule in _rule_set(spoken).rules_for(sentence.plain):
            if rule.is_fallback and has_background:
                continue
            found = rule.pattern.search(sentence.plain)
            if found and (memory := _memory(rule, found, sentence, spoken)):
                has_background |= rule.label.startswith("Personal_Background/")
                yield memory


def _spoken_language(text: str, language: str) -> str:
    if _HAN.search(text):
        return "chinese"
    return "spanish" if language == "Spanish" else "english"


def _memory(rule: Rule, found: re.Match[str], sentence: Sentence, language: str) -> dict[str, Any] | None:
    texts = {name: sentence.text[slice(*found.span(name))] for name in found.groupdict()}
    value = statement(rule.value, texts if language == "chinese" else found.groupdict(), language)
    if value is None:
        return None
    label = _label(rule, value)
    return {
        "type": rule.type,
        "label": label,
        "label_suggestion": TASTE_SUGGESTION if label == "UNMAPPED" else None,
        "value": value,
        "confidence": rule.confidence,
        "evidence_text": sentence.text,
    }


def _label(rule: Rule, value: str) -> str:
    if rule.label != "topic":
        return rule.label
    return topic_label(value) or (DISLIKE_LABEL if rule.dislike else "UNMAPPED")


@cache
def _rule_set(language: str) -> RuleSet:
    table = tomllib.loads((HERE / f"statements_{language}.toml").read_text(encoding="utf-8"))
    rules = [_rule(row, table["macros"]) for row in table["rule"]]
    return RuleSet(
        speaker=re.compile(table["gates"]["speaker"], re.IGNORECASE),
        request=re.compile(table["gates"]["request"], re.IGNORECASE),
        personal=tuple(rule for rule in rules if not rule.is_request),
        requests=tuple(rule for rule in rules if rule.is_request),
        openings={
            name: re.compile(_expand(f"<{name}>", table["macros"]), re.IGNORECASE)
            for name in {rule.opening for rule in rules if rule.opening is not None}
        },
    )


def _rule(row: dict[str, Any], macros: dict[str, str]) -> Rule:
    return Rule(
        pattern=re.compile(_expand(row["pattern"], macros), re.IGNORECASE),
        label=row["label"],
        value=row["value"],
        confidence=row.get("confidence", 0.95),
        type=row.get("type", "direct"),
        dislike=row.get("dislike", False),
        is_fallback=row.get("fallback", False),
        opening=opening[1] if (opening := re.match("<([A-Z]+)>", row["pattern"])) else None,
    )


def _expand(pattern: str, macros: dict[str, str]) -> str:
    """Replace <NAME> by its macro; (?P<x>...) stays, since macro names are upper case."""
    return re.sub(r"(?<!\?P)<([A-Z]+)>", lambda name: macros[name[1]], pattern)
