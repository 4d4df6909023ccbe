"""Tells whether a statement is the user's own or belongs to a played part or somebody else's text."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from llm.offline.validation_cues import Cues

REACH_CHARACTERS = 3000
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
    if not is_quoted and own_voice > max(_last(cues.frames[name], before) for name in FRAMES):
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
    frame, is_open = None, False
    for text in [*earlier, before]:
        text = text[:REACH_CHARACTERS]
        is_current = text is before
        opened = {} if is_current else {name: _last(cues.frames[name], text) for name in FRAMES}
        name = max(opened, key=lambda one: opened[one]) if opened else ""
        left, again = _last(cues.own_voice, text), _last(cues.again, text)
        if opened and opened[name] >= 0:
            frame, is_open = name, opened[name] > left
        elif again > left:
            is_open = frame is not None
        elif left >= 0 and not (is_current and is_quoted):
            is_open = False
    if frame is None or not (is_quoted or (frame == "role_play" and is_open)):
        return "self"
    return frame


@lru_cache(maxsize=2048)
def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((found.start() for found in pattern.finditer(text)), default=-1)
