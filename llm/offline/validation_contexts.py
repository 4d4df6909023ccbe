"""Tells whether a statement is the user's own or belongs to a played part or somebody else's text."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from llm.offline.validation_cues import Cues

REACH_CHARACTERS = 2000
QUOTED_CHARACTERS = 4
OWN_VOICE = ("Preferences/Interaction_Preferences", "Thoughts/Curiosity", "Constraints_and_Boundaries/")
FRAMES = ("role_play", "translation", "for_others")

_SPEAKER = re.compile(r"(?<![\w])(?:i|i'm|my|me|soy|tengo|mi|vivo|nací)(?!\w)|我", re.IGNORECASE)
_OPENS_TEXT = re.compile(r"[:：\n]")


def context_of(candidate: Mapping[str, object], texts: Sequence[str], message: int | None, cues: Cues) -> str:
    """Return self, role_play, translation or for_others for a candidate with its evidence in `message`.

    A frame holds from its cue on. A quotation inside a frame belongs to the frame; words outside one do only
    in a played scene, until the user steps out of it, or after the colon of the request itself.
    """
    if message is None or str(candidate["label"]).startswith(OWN_VOICE) or candidate["type"] == "indirect":
        return "self"
    text = texts[message][:REACH_CHARACTERS]
    claim = _claim_start(candidate, text)
    is_quoted = any(quote.start() <= claim < quote.end() for quote in cues.quoted.finditer(text))
    own = _in_message(text, claim, is_quoted, cues)
    if own:
        return own
    return _in_frame(texts[:message], text[:claim], is_quoted, cues)


def _claim_start(candidate: Mapping[str, object], text: str) -> int:
    """Return where in the message the claim stands: where the value quotes it, else its first "I"."""
    evidence, value = str(candidate["evidence_text"]), str(candidate["value"])
    start = max(text.find(evidence), 0)
    shared = SequenceMatcher(None, value.lower(), evidence.lower(), autojunk=False).find_longest_match()
    if shared.size >= QUOTED_CHARACTERS:
        return start + shared.b
    speaker = _SPEAKER.search(evidence)
    return start + (speaker.start() if speaker else 1)


def _in_message(text: str, claim: int, is_quoted: bool, cues: Cues) -> str | None:
    """Judge by the cues of the claim's own message, those before the claim."""
    before = text[:claim]
    own_voice = _last(cues.own_voice, before)
    if not is_quoted and own_voice >= 0 and own_voice > max(_last(cues.frames[name], before) for name in FRAMES):
        return "self"
    if any(cue.start() < claim for cue in cues.frames["role_play"].finditer(text)):
        return "role_play"
    persona = cues.persona.search(before)
    if persona and not re.search(r"[.!?。！？\n]", before[persona.end() :]):
        return "role_play"
    for name in ("translation", "for_others"):
        cue = cues.frames[name].search(before)
        if cue and (is_quoted or _OPENS_TEXT.search(before[cue.end() :])):
            return name
        if cues.frames[name].search(text) and is_quoted:
            return name
    return None


def _in_frame(earlier: Sequence[str], before: str, is_quoted: bool, cues: Cues) -> str:
    """Judge by the last frame that an earlier message opened."""
    if not is_quoted and all(_last(cues.frames["role_play"], text[:REACH_CHARACTERS]) < 0 for text in earlier):
        return "self"
    frame, is_open = "self", False
    for text in earlier:
        frame, is_open = _after(text[:REACH_CHARACTERS], frame, is_open, cues)
    if is_quoted or frame == "self":
        return frame
    left, again = _last(cues.own_voice, before), _last(cues.again, before)
    is_open = again > left or (is_open and left < 0)
    return "role_play" if frame == "role_play" and is_open else "self"


def _after(text: str, frame: str, is_open: bool, cues: Cues) -> tuple[str, bool]:
    """Return the frame that holds after a message, and whether the user still speaks inside it."""
    opened = {name: _last(cues.frames[name], text) for name in FRAMES}
    name = max(FRAMES, key=lambda one: opened[one])
    left, again = _last(cues.own_voice, text), _last(cues.again, text)
    if opened[name] >= 0:
        return name, opened[name] > left
    return frame, again > left or (is_open and left < 0)


@lru_cache(maxsize=2048)
def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((found.start() for found in pattern.finditer(text)), default=-1)
