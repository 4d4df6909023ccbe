import hashlib

import pytest

from llm.gateway import Reply
from stages import memories

DIALOGUES = """
dialogue_id | user_id | conversation_hash | language | turns::struct(role varchar, text varchar)[]
-
d1 | ua | h1 | English | [{'role': user, 'text': Hi! I paint boats 😀 at home}, {'role': assistant, 'text': You live in Rome}]
d2 | ub | h2 | English | [{'role': user, 'text': hello}, {'role': assistant, 'text': hi}, {'role': user, 'text': "I  LIVE in Rome, yes"}]
"""  # noqa: E501 # a drawn table
CANDIDATES = """
candidate_id | dialogue_id | number::integer | type   | label            | label_suggestion | value          | confidence::double | evidence_text  | extractor
-
c1           | d1          | 0               | direct | Preferences/Food |                  | User paints    | 0.9                | I paint boats  | ex
c2           | d1          | 1               | direct |                  |                  | User is home   | 0.9                | at home        | ex
c3           | d2          | 0               | ''     | Rome             |                  | User is Roman  | 3                  | I live in rome | ex
"""  # noqa: E501 # a drawn table


def verdict(number, **changes):
    fields = {"type": "direct", "label": "Personal_Background/Location", "label_suggestion": None, "confidence": 0.95}
    more = {"emotion": None, "context": "self", "time_scope": "unknown", "preference_attitude": None}
    return {"number": number, "value": f"User says {number}", **fields, **more, **changes}


@pytest.fixture
def checked(given, settle, model_says):
    """Give what comes of the candidates where the validator answers so."""

    def make(answer, candidates=CANDIDATES):
        db = given(dialogues=DIALOGUES, candidate_memories=candidates)
        return settle(db, memories, validator=model_says(answer, "a-validator"))

    return make


@pytest.fixture
def checked_with(checked):
    """Give what comes of them where each verdict has the given changes."""
    return lambda **changes: checked(
        lambda shown: {"memories": [verdict(one["number"], **changes) for one in shown["candidates"]]}
    )


def test_evidence_is_a_span_of_a_user_message_as_it_stands_there(checked_with):
    rows = checked_with().rows

    assert [
        (row["candidate_id"], row["evidence_text"], row["evidence_message"], row["evidence_start"], row["evidence_end"])
        for row in rows
    ] == [("c1", "I paint boats", 0, 4, 17), ("c2", "at home", 0, 20, 27), ("c3", "I  LIVE in Rome", 2, 0, 15)]
    assert [row["evidence_way"] for row in rows] == ["exact", "exact", "normalised"]


def test_a_memory_keeps_what_it_was_given_as_and_by_whom(checked_with):
    row = checked_with().rows[2]

    assert (row["given_type"], row["given_label"], row["given_confidence"]) == ("", "Rome", 3.0)
    assert (row["extractor"], row["validator"], row["user_id"], row["language"]) == (
        "ex",
        "a-validator",
        "ub",
        "English",
    )
    parts = "ub|d2|Personal_Background/Location|User says 0"
    assert row["memory_id"] == "m" + hashlib.sha256(parts.encode()).hexdigest()[:16]


def test_evidence_in_a_message_of_the_assistant_is_none(checked):
    candidates = CANDIDATES.replace("I paint boats  ", "You live in Rome")

    settled = checked(lambda shown: {"memories": [verdict(one["number"]) for one in shown["candidates"]]}, candidates)

    assert settled.reasons == {"c1": "evidence_not_found"}


@pytest.mark.parametrize(
    "numbers",
    [[0], [0, 1, 2], [1, 0], [0, 0], [], [0, 1, 1], [1, 2]],
    ids=["removes", "adds", "reorders", "repeats", "empties", "adds a repeat", "renumbers"],
)
def test_a_validator_may_not_change_the_list(checked, numbers):
    settled = checked(
        lambda shown: {"memories": [verdict(one) for one in (numbers if len(shown["candidates"]) == 2 else [0])]}
    )

    assert settled.reasons == {"c1": "validator_changed_the_list", "c2": "validator_changed_the_list"}
    assert settled.column("candidate_id") == ["c3"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((Reply(status, detail="why"), status) for status in ("truncated", "filtered", "refused", "not_recorded")),
        *(
            ("", "empty"),
            ("no", "schema_error"),
            ({"memories": [verdict(0, context="dream"), verdict(1)]}, "schema_error"),
        ),
    ],
)
def test_a_call_that_failed_drops_each_candidate_of_its_dialogue(checked, answer, reason):
    settled = checked(lambda shown: answer if len(shown["candidates"]) == 2 else {"memories": [verdict(0)]})

    assert settled.reasons == {"c1": reason, "c2": reason}
    assert settled.column("candidate_id") == ["c3"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("User paints [ERROR: Not about the user]", "User paints"),
        ("[error: no] User paints", "User paints"),
        ("User [ERROR] paints [ERROR: cut here", "User paints"),
        ("[ERRORS: two] User paints", "User paints"),
        (" User paints\n", "User paints"),
        ("User met an [Errol Flynn] fan", "User met an [Errol Flynn] fan"),
    ],
)
def test_debris_of_tools_never_reaches_a_value(checked_with, value, kept):
    assert set(checked_with(value=value).column("value")) == {kept}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": "[ERROR: Not about the user]"}, "debris"),
        ({"value": " "}, "empty_value"),
        ({"type": "both"}, "unknown_type"),
        ({"confidence": 0.1}, "rejected_by_validator"),
        ({"confidence": 0.0, "type": "indirect"}, "rejected_by_validator"),
    ],
)
def test_what_has_no_normal_form_is_dropped(checked_with, changes, reason):
    assert checked_with(**changes).reasons == dict.fromkeys(("c1", "c2", "c3"), reason)


@pytest.mark.parametrize(
    ("changes", "normal"),
    [
        ({"type": "Explicit"}, {"type": "direct"}),
        ({"type": "implied", "confidence": 0.95}, {"type": "indirect", "confidence": 0.80}),
        ({"confidence": 0.9}, {"confidence": 0.95}),
        (
            {"label": "preferences/foods", "label_suggestion": "A/B/C"},
            {"label": "Preferences/Food", "label_suggestion": None},
        ),
        ({"label": "Hobby/Kites"}, {"label": "UNMAPPED", "label_suggestion": "Hobby/Kites"}),
        ({"label": "UNMAPPED", "label_suggestion": "A/B/C"}, {"label": "UNMAPPED", "label_suggestion": "A/B/C"}),
        ({"label": None}, {"label": "UNMAPPED", "label_suggestion": None}),
        ({"label": " ", "label_suggestion": " "}, {"label": "UNMAPPED", "label_suggestion": None}),
        ({"emotion": " "}, {"emotion": None}),
        ({"emotion": " joy "}, {"emotion": "joy"}),
        ({"context": "role_play"}, {"context": "role_play"}),
    ],
)
def test_spellings_are_brought_to_one(checked_with, changes, normal):
    for row in checked_with(**changes).rows:
        assert {name: row[name] for name in normal} == normal


def test_what_is_said_twice_in_a_dialogue_is_kept_once(checked_with):
    settled = checked_with(value="User paints")

    assert settled.column("candidate_id") == ["c1", "c3"]
    assert settled.reasons == {"c2": "repeated_in_dialogue"}


def test_what_was_dropped_does_not_take_the_place_of_what_is_said_again(checked):
    candidates = CANDIDATES.replace("I paint boats ", "I paint houses")

    settled = checked(
        lambda shown: {"memories": [verdict(one["number"], value="User paints") for one in shown["candidates"]]},
        candidates,
    )

    assert settled.column("candidate_id") == ["c2", "c3"]
    assert settled.reasons == {"c1": "evidence_not_found"}


def test_the_validator_is_shown_the_dialogue_and_the_candidates_without_their_ids(given, model_says):
    model = model_says({"memories": []})
    memories(given(dialogues=DIALOGUES, candidate_memories=CANDIDATES), validator=model)

    [_, second] = model.provider.requests
    assert second.subject == "h2"
    assert [one["index"] for one in second.input["dialogue"]] == [0, 1, 2]
    assert second.input["candidates"] == [
        {
            **{"number": 0, "type": "", "label": "Rome", "label_suggestion": None, "value": "User is Roman"},
            **{"confidence": 3.0, "evidence_text": "I live in rome"},
        }
    ]
