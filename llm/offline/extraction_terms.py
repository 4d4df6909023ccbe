"""Names the subject of a request: its terms, and its wording without the opening."""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import stopwordsiso

SUBJECT_WORDS, SUBJECT_HAN = 12, 24
TERMS_READ = 60
PHRASES_NAMED, PHRASE_WORDS = 3, 3

_CODES = {
    **{"Arabic": "ar", "Chinese": "zh", "Dutch": "nl", "English": "en", "French": "fr", "German": "de"},
    **{"Hindi": "hi", "Indonesian": "id", "Italian": "it", "Japanese": "ja", "Korean": "ko", "Persian": "fa"},
    **{"Polish": "pl", "Portuguese": "pt", "Russian": "ru", "Spanish": "es", "Turkish": "tr"},
    **{"Ukrainian": "uk", "Vietnamese": "vi"},
}
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]+")
_WORD = re.compile(r"[^\W\d_][\w'’+#-]+")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_CLAUSE_END = re.compile(r"[\n.!?;:。！？；：，,(（\[]")


@dataclass(frozen=True)
class Patterns:
    """What the rules of subjects.toml come to in one language."""

    opener: re.Pattern[str]
    request: re.Pattern[str]
    speaker: re.Pattern[str]
    inverted: re.Pattern[str]
    how_to: re.Pattern[str]
    continuing: re.Pattern[str]
    frames: dict[str, dict[str, str]]
    wording: str
    kinds: dict[str, re.Pattern[str]]
    stop_words: frozenset[str]
    han_stop: re.Pattern[str]

    def asks_by_default(self, text: str) -> bool:
        """Whether a message without request words asks: it does unless its user speaks of themselves.

        Spanish verbs tell the speaker without a pronoun, so there only request words count.
        """
        return self.wording != "spanish" and not self.speaker.search(text)


@cache
def patterns(language: str) -> Patterns:
    """Compile the patterns of a language, named in English; an unknown one has the English openers."""
    table = tomllib.loads(Path(__file__).with_name("subjects.toml").read_text(encoding="utf-8"))
    openers, stop = table["openers"], table["stop_words"]
    opener = openers.get(language.lower(), openers["english"])
    han = "|".join(sorted(map(re.escape, stop["chinese"].split()), key=len, reverse=True))
    return Patterns(
        opener=re.compile(rf"(?:{opener})", re.IGNORECASE),
        request=re.compile(table["requests"]["pattern"], re.IGNORECASE | re.MULTILINE),
        speaker=re.compile(table["requests"]["speaker"], re.IGNORECASE),
        inverted=re.compile(table["requests"]["inverted"], re.IGNORECASE),
        how_to=re.compile(table["requests"]["how_to"], re.IGNORECASE),
        frames=table["frames"],
        wording=language.lower() if language in ("Chinese", "Spanish") else "english",
        continuing=re.compile(table["continuing"]["pattern"], re.IGNORECASE),
        kinds={kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in table["kinds"].items()},
        stop_words=frozenset(stop["english"].split()) | _foreign_stop_words(language, stop),
        han_stop=re.compile(han),
    )


def terms(text: str, found: Patterns) -> frozenset[str]:
    """Return the words, in Chinese the runs between function words, that can name a subject."""
    words = (_stem(word.lower().replace("’", "'")) for word in _WORD.findall(text) if not _HAN.search(word))
    kept = [word for word in words if len(word) > 2 and word not in found.stop_words][:TERMS_READ]
    pieces = [piece for run in _HAN_RUN.findall(text) for piece in found.han_stop.split(run)]
    han = [gram for piece in pieces[:TERMS_READ] for gram in _grams(piece)]
    return frozenset(kept + han)


def best_request(text: str, counts: Counter[str], found: Patterns) -> str | None:
    """Return the clause that names the subject of a text best, without its opening; None when none does."""
    best, best_score = None, 0.0
    is_question = re.search(r"[?？]", text) is not None
    for clause in _CLAUSE_END.split(text)[:8]:
        subject = _open(clause.strip(), found)
        if is_question and subject == clause.strip():
            continue
        if not _is_short(subject) or found.speaker.search(subject) or found.inverted.match(subject):
            continue
        named = terms(subject, found)
        score = sum(counts[term] - 0.5 for term in named) / (1 + 0.1 * len(subject.split()))
        if score > best_score:
            best, best_score = subject, score
    return best


def key_phrases(texts: list[str], counts: Counter[str], found: Patterns) -> list[str]:
    """Return up to three runs of content words, the best of each text, those that most texts name first."""
    phrases: dict[str, float] = {}
    for text in texts:
        scores = {run: sum(counts[term] for term in terms(run, found)) for run in _runs(text, found)}
        if scores:
            best = max(scores, key=lambda run: scores[run])
            phrases.setdefault(best, scores[best])
    kept: list[str] = []
    for run in sorted(phrases, key=lambda run: -phrases[run]):
        if not any(run in other or other in run for other in kept):
            kept.append(run)
    return kept[:PHRASES_NAMED]


def _runs(text: str, found: Patterns) -> list[str]:
    """Return the runs of up to three content words; in Chinese the stretches between function words."""
    runs, run = [], list[str]()
    for word in re.findall(r"[\w'’+#-]+|[^\w\s]", _HAN_RUN.sub(" . ", text)):
        is_content = bool(terms(word, found)) and not found.speaker.search(word)
        if run and (not is_content or len(run) == PHRASE_WORDS):
            runs.append(" ".join(run))
            run = []
        if is_content:
            run.append(word)
    han = [piece for stretch in _HAN_RUN.findall(text) for piece in found.han_stop.split(stretch)]
    return [*runs, *([" ".join(run)] if run else []), *(piece for piece in han if 2 <= len(piece) <= 8)]


def _open(clause: str, found: Patterns) -> str:
    """Take openings off, one after another; "how do I" becomes "how to"."""
    for _ in range(5):
        shorter = found.opener.sub("", clause, count=1) if found.opener.match(clause) else clause
        if shorter == clause:
            break
        clause = shorter.strip()
    return found.how_to.sub("how to ", clause).strip(" \"'“”‘’*-–—#>《")


def _is_short(subject: str) -> bool:
    return len(subject) >= 2 and len(subject.split()) <= SUBJECT_WORDS and len(_HAN.findall(subject)) <= SUBJECT_HAN


def _foreign_stop_words(language: str, stop: dict[str, str]) -> frozenset[str]:
    """English keeps its own short list: the shared one holds subjects, such as "computer" and "research"."""
    code = _CODES.get(language)
    if code in (None, "en") or not stopwordsiso.has_lang(code):
        return frozenset()
    extra = stop.get(f"{language.lower()}_extra", "").split()
    return frozenset(stopwordsiso.stopwords(code)) | frozenset(extra)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _grams(piece: str) -> list[str]:
    """Return a run of Chinese and its pairs of characters, so that longer and shorter mentions meet."""
    if len(piece) < 2:
        return []
    pairs = [piece[i : i + 2] for i in range(len(piece) - 1)]
    return [piece, *pairs] if len(piece) <= 8 else pairs
