"""The cues of validation.toml, compiled."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Cues:
    """Patterns that tell rejection, context, emotion, time and attitude, and the labels there are."""

    labels: frozenset[str]
    rejected: re.Pattern[str]
    frames: dict[str, re.Pattern[str]]
    persona: re.Pattern[str]
    own_voice: re.Pattern[str]
    again: re.Pattern[str]
    quoted: re.Pattern[str]
    emotions: dict[str, re.Pattern[str]]
    negated: re.Pattern[str]
    times: dict[str, re.Pattern[str]]
    dislike: re.Pattern[str]


@cache
def cues() -> Cues:
    """Read and compile the cues once."""
    table = tomllib.loads(Path(__file__).with_name("validation.toml").read_text(encoding="utf-8"))
    contexts = {name: _compiled(pattern) for name, pattern in table["contexts"].items()}
    emotions = {name: _compiled(pattern) for name, pattern in table["emotions"].items()}
    return Cues(
        labels=frozenset(table["labels"]),
        rejected=_compiled(table["rejected"]["value"]),
        frames={name: contexts[name] for name in ("role_play", "translation", "for_others")},
        persona=contexts["persona"],
        own_voice=contexts["self"],
        again=contexts["again"],
        quoted=contexts["quoted"],
        negated=emotions.pop("negated"),
        emotions=emotions,
        times={name: _compiled(pattern) for name, pattern in table["time"].items()},
        dislike=_compiled(table["attitudes"]["dislike"]),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
