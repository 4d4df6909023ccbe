"""Words statements: what a pattern quoted, cut where the thought ends, said of a third person."""

import re
from collections.abc import Mapping

QUOTE_WORDS = 14

_TAIL = re.compile(
    r"""\s+(?:and|but|because|since|although|though|while|which|who|that)\s+(?:i|i'm|im|i've|i'd|my|we|it|it's|he|she|they|this
          |that's|need|want|would|can|could|you|please|is|are|how|what|now|then|maybe|the|our)\b.*
      | \s+i\s+(?:could|can|would|can't)\b.*
      | ,?\s+so\s+(?!much|many|far|good).*
      | ,\s*(?:but|and\s+i|it|he|she|they|we|you|i|i'm|i'd|i've|though|please|which|the|then)\b.*
      | ,[^,]*\b(?:is|are|was|i|i'm|i'd)\b.*
      | ,?\s*\b(?:please|can\ you|could\ you|thank\ you|thanks|however|right\ now|at\ the\ moment|anyway|though$|too$
          |how\ (?:can|do|should|much|long)|what\ (?:can|do|should)|do\ you|if\ you|help\ me|over\ here
          |these\ days)\b.*
      | \s+(?:and|or|but|so|because|that|which|to|the|a|an|of|in|into|on|from|with|for|at|as|i|my|is
          |are)\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_COLA = re.compile(
    r",?\s+(?:pero|porque|aunque|as[ií] que|entonces|sin embargo)\b.*"
    r"|\s+y\s+(?:yo|me|mi|mis|no|quiero|necesito|tengo|soy|estoy|salgo|vivo|trabajo|estudio|hago|voy"
    r"|mañana|ahora|ya)\b.*"
    r"|\s+y\s+un[ao]?\s+\w+\s+(?:quiere|pide|dice|me|se|tiene)\b.*"
    r"|\s*\b(?:por favor|gracias|puedes|podr[ií]as|qu[eé] me recomiendas)\b.*"
    r"|\s+(?:y|o|de|en|con|que|hasta|para|el|la|un|una|a)\s*$",
    re.IGNORECASE,
)
_THIRD_PERSON = {
    "i'm": "they are",
    "i am": "they are",
    "i was": "they were",
    "i've": "they have",
    "i'd": "they would",
    "i'll": "they will",
    "i": "they",
    "my": "their",
    "me": "them",
    "mine": "theirs",
    "myself": "themselves",
    "we": "they",
    "we're": "they are",
    "we are": "they are",
    "our": "their",
    "us": "them",
}
_FIRST_PERSON = re.compile(
    r"(?<![\w'])(?:" + "|".join(sorted(map(re.escape, _THIRD_PERSON), key=len, reverse=True)) + r")(?![\w'])",
    re.IGNORECASE,
)
_TERCERA_PERSONA = {"mi": "su", "mis": "sus", "me": "le", "conmigo": "consigo"}
_PRIMERA_PERSONA = re.compile(r"(?<!\w)(?:mis?|me|conmigo)(?!\w)", re.IGNORECASE)


def statement(template: str, quotes: Mapping[str, str | None], language: str) -> str | None:
    """Fill a template with the quotes of a match, or return None when a quote is too thin."""
    if not quotes:
        return template
    filled = {}
    for name, quote in quotes.items():
        filled[name] = _verb(quote or "") if name == "v" else _phrase(quote or "", language)
        if not re.search(r"\w", filled[name]):
            return None
    value = template.format(**filled)
    return value[0].upper() + value[1:]


def third_person(text: str) -> str:
    """Turn an English speaker's "I" and "my" into "they" and "their"."""
    return _FIRST_PERSON.sub(lambda word: _THIRD_PERSON[word[0].lower()], text)


def _verb(text: str) -> str:
    """Put the first word of an English verb phrase into the third person: "Worries about"."""
    first, *rest = text.strip().lower().split()
    if re.search(r"[^aeiou]y$", first):
        first = first[:-1] + "ies"
    else:
        first += "es" if re.search(r"(?:s|x|z|ch|sh|o)$", first) else "s"
    return " ".join([first.capitalize(), *rest])


def _phrase(text: str, language: str) -> str:
    if language == "chinese":
        return text.strip()
    tail = _COLA if language == "spanish" else _TAIL
    kept = tail.sub("", tail.sub("", " ".join(text.split()[:QUOTE_WORDS]))).strip(" ,'\"-–—*#:")
    if language == "spanish":
        return _PRIMERA_PERSONA.sub(lambda word: _TERCERA_PERSONA[word[0].lower()], kept)
    return third_person(kept)
