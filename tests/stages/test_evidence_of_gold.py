"""How often the evidence of real memories is found where its authors say that it stands."""

import unicodedata
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stages.evidence import find_evidence, locate

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "alps"
PIECE = 12

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the real dialogues are not part of the repository")


@pytest.fixture(scope="module")
def dialogues():
    """The messages of each session."""
    rows = pq.read_table(SHARED / "dialogues.parquet", columns=["session_id", "turns"]).to_pylist()
    return {row["session_id"]: row["turns"] for row in rows}


@pytest.fixture(scope="module")
def quotations():
    """Session, stated message and evidence text of each memory that has all three."""
    names = ["session_id", "evidence_index", "evidence_text"]
    rows = pq.read_table(SHARED / "gold_memories.parquet", columns=names).to_pylist()
    return [
        tuple(row.values())
        for row in rows
        if row["evidence_index"] is not None and (row["evidence_text"] or "").strip()
    ]


@pytest.fixture(scope="module")
def spans(dialogues, quotations):
    """What is found of each, with no word of where it is said to stand."""
    return [locate(text, dialogues[session]) for session, _, text in quotations]


def test_evidence_is_found_in_the_message_that_is_stated_without_being_told_which(quotations, spans):
    there = [span for (_, index, _), span in zip(quotations, spans, strict=True) if span and span.message == index]
    ways = Counter(span.way for span in there)

    assert len(quotations) == 3962
    assert len(there) / len(quotations) >= 0.95
    # Of a hundred: 69 as they are, 14 in pieces, 12 but for spaces and signs, 1 with slips.
    assert {way: round(100 * ways[way] / len(quotations)) for way in ways} == {
        **{"exact": 69, "piece": 14, "normalised": 12, "fuzzy": 1},
        "assistant": 0,
    }


def test_of_evidence_that_the_user_typed_more_than_once_the_stated_place_is_found_too(dialogues, quotations):
    found = 0
    for session, index, text in quotations:
        messages = dialogues[session]
        alone = [one if place == index else {**one, "text": ""} for place, one in enumerate(messages)]
        found += find_evidence(text, alone) is not None

    assert found / len(quotations) >= 0.975


def test_what_is_found_is_what_was_quoted_or_a_piece_of_it(dialogues, quotations, spans):
    for (session, _, text), span in zip(quotations, spans, strict=True):
        if span and span.way in ("exact", "normalised", "piece"):
            found = letters(dialogues[session][span.message]["text"][span.start : span.end])
            assert found in letters(text)
            assert span.way == "piece" or len(found) >= min(PIECE, len(letters(text)))


def test_the_same_quotation_is_hardly_ever_found_in_the_dialogue_of_somebody_else(dialogues, quotations):
    """Where it is, people typed the same: the prompts of one game, one joke, `more`."""
    of_script: dict[str, list[str]] = {}
    for session, messages in dialogues.items():
        letter = next(filter(str.isalpha, "".join(one["text"] for one in messages)), "a")
        of_script.setdefault(unicodedata.name(letter, "").split()[0], []).append(session)
    others = {
        session: sessions[(place + 1) % len(sessions)]
        for sessions in of_script.values()
        for place, session in enumerate(sessions)
        if len(sessions) > 1
    }
    ways: Counter[str] = Counter()
    for session, _, text in quotations:
        if session in others and (span := find_evidence(text, dialogues[others[session]])):
            ways[span.way] += 1

    assert ways["fuzzy"] / len(quotations) <= 0.002
    assert ways.total() / len(quotations) <= 0.005


def letters(text):
    """Return the letters and digits of a text, by another way than the code under test."""
    return "".join(filter(str.isalnum, text.casefold()))
