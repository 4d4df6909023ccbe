"""Which window of a long dialogue each candidate is checked in, and how a check that is too much is made smaller."""

import json

import pytest

from llm.gateway import Reply, Terms
from llm.tokens import expected_tokens
from stages import memories
from stages.checks import Candidate, Check, smaller_checks
from stages.evidence import locate
from stages.memories import PROMPT
from stages.windows import Piece

CANDIDATES = (
    "candidate_id | dialogue_id | number::integer | type | label | label_suggestion | value | confidence::double"
    " | evidence_text | extractor",
    "-",
)
TEXT = "I moved to Porto in spring. " * 8


def row(number, evidence):
    return {"number": number, "evidence_text": evidence, "value": "v", "type": "direct", "label": "l"} | {
        "label_suggestion": None,
        "confidence": 0.8,
    }


def test_a_candidate_is_checked_in_the_window_that_holds_most_of_its_evidence():
    said = TEXT + "My sister Ana paints boats." + TEXT
    turns = [{"role": "user", "text": said}, {"role": "assistant", "text": TEXT}]
    evidence = "My sister Ana paints boats."
    candidate = Candidate(row(0, evidence), locate(evidence, turns))
    cut = said.index(evidence) + 3  # the first piece holds its first letters only
    pieces = [Piece(0, "user", said[:cut]), Piece(0, "user", said[cut:], cut)]
    window = (*pieces, Piece(1, "assistant", TEXT))

    checks = smaller_checks(Check("s", "English", window, (candidate,)), "too_long")

    [check] = checks
    assert [piece.text for piece in check.window if evidence[3:] in piece.text]
    assert check.candidates == (candidate,)


def verdict(number, **changes):
    fields = {"type": "direct", "label": "Personal_Background/Location", "label_suggestion": None, "confidence": 0.95}
    more = {"emotion": None, "context": "self", "time_scope": "unknown", "preference_attitude": None}
    return {"number": number, "value": f"User says {number}", **fields, **more, **changes}


def agree(shown):
    """A validator that lets everything pass."""
    return {"memories": [verdict(one["number"]) for one in shown["candidates"]]}


OWNED = 12
"""How many things the user tells of, one in each of their messages."""


@pytest.fixture
def long_checked(given, settle, model_says):
    """Give what comes of the candidates of a long dialogue, and the inputs that the validator was shown."""

    def make(answer, input_tokens=None, words=40):
        texts = [f"I own {thing} goats. {'word ' * words}" for thing in range(OWNED)]
        turns = [{"role": role, "text": text} for text in texts for role in ("user", "assistant")]
        db = given(
            dialogues="dialogue_id | user_id | conversation_hash | language\n-\nd1 | ua | h1 | English",
            candidate_memories="\n".join(
                [
                    *CANDIDATES,
                    *(
                        f"c{n} | d1 | {n} | direct | Plans/Schedule | | Has {n} goats | 0.95 | {quoted(n)} | ex"
                        for n in range(OWNED)
                    ),
                ]
            ),
        )
        db.execute("alter table dialogues add column turns struct(role varchar, text varchar)[]")
        db.execute("update dialogues set turns = $turns", {"turns": turns})
        model = model_says(answer)
        model.provider.terms = Terms(input_tokens=input_tokens)
        settled = settle(db, memories, validator=model, on_assistant="drop", not_found="downgrade")
        return settled, [request.input for request in model.provider.requests]

    return make


def quoted(thing):
    """What a candidate quotes; one in five quotes nothing that anybody said."""
    return "never said" if thing % 5 == 4 else f"I own {thing} goats"


def numbers(shown):
    return [one["number"] for one in shown["candidates"]]


def test_each_candidate_of_a_long_dialogue_is_checked_once_in_the_window_that_holds_its_evidence(long_checked):
    whole, [_] = long_checked(agree)
    room = expected_tokens(PROMPT.text) + 1800
    settled, shown = long_checked(agree, room)

    assert settled.rows == whole.rows
    assert len(settled.rows) == OWNED
    assert len(shown) > 1
    assert sorted(number for one in shown for number in numbers(one)) == [*range(OWNED)]
    for place, one in enumerate(shown):
        text = json.dumps(one["dialogue"])
        assert all(quoted(number) in text or (place == 0 and number % 5 == 4) for number in numbers(one))
        assert expected_tokens(PROMPT.text + json.dumps(one)) <= room


def test_a_list_that_is_too_much_for_one_answer_is_halved_over_the_same_messages(long_checked):
    settled, shown = long_checked(lambda shown: Reply("truncated") if len(shown["candidates"]) > 3 else agree(shown))

    assert settled.rows == long_checked(agree)[0].rows
    assert [len(one["candidates"]) for one in shown] == [12, 6, 6, 3, 3, 3, 3]
    assert {len(one["dialogue"]) for one in shown} == {2 * OWNED}


def test_a_window_that_is_too_long_for_the_server_is_halved_with_its_candidates(long_checked):
    settled, shown = long_checked(lambda shown: Reply("too_long") if len(shown["dialogue"]) > 8 else agree(shown))

    assert settled.rows == long_checked(agree)[0].rows
    answered = [one for one in shown if len(one["dialogue"]) <= 8]
    assert sorted(number for one in answered for number in numbers(one)) == [*range(OWNED)]


def test_a_list_that_has_no_room_beside_a_window_is_asked_about_in_parts(long_checked):
    room = expected_tokens(PROMPT.text) + 1000
    settled, shown = long_checked(agree, room, words=0)

    assert settled.rows == long_checked(agree, words=0)[0].rows
    assert len(shown) > 1
    assert max(expected_tokens(PROMPT.text + json.dumps(one)) for one in shown) <= room


def test_candidates_of_a_part_without_an_answer_are_dropped_with_the_part(long_checked):
    def answer(shown):
        if len(shown["candidates"]) > 6:
            return Reply("truncated")
        return agree(shown) if 0 in numbers(shown) else Reply("refused", detail="why")

    settled, _ = long_checked(answer)

    assert settled.column("candidate_id") == [f"c{n}" for n in range(6)]
    assert settled.reasons == {f"c{n}": "refused" for n in range(6, OWNED)}
    assert {one["drop_detail"] for one in settled.drops} == {"part 2 of 2: why"}


def test_a_list_that_the_validator_changed_in_one_part_is_refused_for_that_part(long_checked):
    def answer(shown):
        if len(shown["candidates"]) > 6:
            return Reply("truncated")
        return agree(shown) if 0 in numbers(shown) else {"memories": [verdict(0)]}

    settled, _ = long_checked(answer)

    assert settled.reasons == {f"c{n}": "validator_changed_the_list" for n in range(6, OWNED)}
    assert {one["drop_detail"] for one in settled.drops} == {"part 2 of 2"}
