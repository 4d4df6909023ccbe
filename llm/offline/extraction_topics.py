"""Labels a stated taste by the words it holds: food, music, reading, sports and so on."""

import re
import tomllib
from functools import cache
from pathlib import Path


def topic_label(text: str) -> str | None:
    """Return the preference label whose words the text holds most of, or None when it holds none."""
    lowered = text.lower()
    hits = {label: len(pattern.findall(lowered)) for label, pattern in _patterns().items()}
    best = max(hits, key=lambda label: hits[label])
    return best if hits[best] else None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    table = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))
    return {
        label: _pattern(table["words"][topic].split(), table["chinese"][topic].split())
        for topic, label in table["label"].items()
    }


def _pattern(words: list[str], chinese: list[str]) -> re.Pattern[str]:
    latin = "|".join(re.escape(word).replace(r"\-", "[- ]?") for word in words)
    return re.compile(rf"(?<!\w)(?:{latin})s?(?!\w)|{'|'.join(chinese)}")
