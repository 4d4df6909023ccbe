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
KNOBS = {"on_assistant": "drop", "not_found": "drop"}


def verdict(number, **changes):
    fields = {"type": "direct", "label": "Personal_Background/Location", "label_suggestion": None, "confidence": 0.95}
    more = {"emotion": None, "context": "self", "time_scope": "unknown", "preference_attitude": None}
    return {"number": number, "value": f"User says {number}", **fields, **more, **changes}


@pytest.fixture
def checked(given, settle, model_says):
    """Give what comes of the candidates where the validator answers so."""

    def make(answer, candidates=CANDIDATES, **knobs):
        db = given(dialogues=DIALOGUES, candidate_memories=candidates)
        return settle(db, memories, validator=model_says(answer, "a-validator"), **(KNOBS | knobs))

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


def agree(shown):
    """A validator that lets everything pass."""
    return {"memories": [verdict(one["number"]) for one in shown["candidates"]]}


ON_ASSISTANT = CANDIDATES.replace("I paint boats  ", "You live in Rome")
NOT_FOUND = CANDIDATES.replace("I paint boats  ", "I paint houses ")


def test_evidence_in_a_message_of_the_assistant_is_none(checked):
    settled = checked(agree, ON_ASSISTANT)

    assert settled.reasons == {"c1": "evidence_not_found"}
    assert settled.drops[0]["drop_detail"] == "only the assistant said it, in message 1"
    assert checked(agree, NOT_FOUND).drops[0]["drop_detail"] is None


def test_what_only_the_assistant_said_may_be_kept_as_weak_beside_what_it_said(checked):
    settled = checked(agree, ON_ASSISTANT, on_assistant="downgrade")
    row = settled.rows[0]

    assert settled.reasons == {}
    assert (row["candidate_id"], row["confidence"], row["evidence_way"]) == ("c1", 0.50, "assistant")
    assert (row["evidence_message"], row["evidence_text"]) == (1, "You live in Rome")
    assert settled.column("confidence") == [0.50, 0.95, 0.95]
    assert checked(agree, NOT_FOUND, on_assistant="downgrade").reasons == {"c1": "evidence_not_found"}


def test_what_nobody_said_may_be_kept_as_weak_without_evidence(checked):
    settled = checked(agree, NOT_FOUND, not_found="downgrade")
    row = settled.rows[0]

    assert settled.reasons == {}
    assert (row["candidate_id"], row["confidence"], row["evidence_way"]) == ("c1", 0.50, "not_found")
    assert {row[f"evidence_{name}"] for name in ("text", "message", "start", "end")} == {None}
    assert checked(agree, ON_ASSISTANT, not_found="downgrade").reasons == {"c1": "evidence_not_found"}
    assert {"field": "confidence", "changed_by": "normal_form", "given": "0.95", "taken": "0.5"} in row["changes"]


def test_what_the_validator_rejects_is_not_kept_as_weak(checked):
    settled = checked(
        lambda shown: {"memories": [verdict(one["number"], confidence=0.1) for one in shown["candidates"]]},
        NOT_FOUND,
        **dict.fromkeys(KNOBS, "downgrade"),
    )

    assert set(settled.reasons.values()) == {"rejected_by_validator"}


def test_every_change_from_extractor_to_memory_is_told(checked):
    settled = checked(
        lambda shown: {
            "memories": [
                verdict(
                    one["number"], value="User paints [ERROR: no]", type="Explicit", label="Arts/Boats", confidence=0.9
                )
                for one in shown["candidates"]
            ]
        }
    )

    assert [tuple(change.values()) for change in settled.rows[0]["changes"]] == [
        ("type", "validator", "direct", "Explicit"),
        ("type", "normal_form", "Explicit", "direct"),
        ("label", "validator", "Preferences/Food", "Arts/Boats"),
        ("label", "normal_form", "Arts/Boats", "UNMAPPED"),
        ("value", "validator", "User paints", "User paints [ERROR: no]"),
        ("value", "normal_form", "User paints [ERROR: no]", "User paints"),
        ("confidence", "normal_form", "0.9", "0.95"),
    ]


def test_what_nobody_changed_has_no_change(checked):
    def repeat(shown):
        names = ("number", "type", "label", "label_suggestion", "value", "confidence")
        return {"memories": [verdict(0) | {name: one[name] for name in names} for one in shown["candidates"]]}

    candidates = CANDIDATES.replace("0.9 ", "0.95").replace("''    ", "direct")

    assert [row["changes"] for row in checked(repeat, candidates).rows] == [
        [],
        [{"field": "label", "changed_by": "normal_form", "given": None, "taken": "UNMAPPED"}],
        [
            {"field": "label", "changed_by": "normal_form", "given": "Rome", "taken": "UNMAPPED"},
            {"field": "confidence", "changed_by": "normal_form", "given": "3", "taken": "0.95"},
        ],
    ]


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
        *((Reply(status, detail="why"), status) for status in ("filtered", "refused", "http_error", "not_recorded")),
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
        ("User paints [ERROR: no (uses 'wir' [we], of others). Rejected.]", "User paints"),
        ("User [ERROR: no [not] one [or two] of them] paints", "User paints"),
        ("User paints [ERROR: cut [here", "User paints"),
        ("User paints [ Error - task-local ]", "User paints"),
        ("【ERROR：无】User paints", "User paints"),
        ("User met an ERROR: the page was gone", "User met an ERROR: the page was gone"),
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
    memories(
        given(dialogues=DIALOGUES, candidate_memories=CANDIDATES),
        validator=model,
        on_assistant="drop",
        not_found="drop",
    )

    [_, second] = model.provider.requests
    assert second.subject == "h2"
    assert [one["index"] for one in second.input["dialogue"]] == [0, 1, 2]
    assert second.input["candidates"] == [
        {
            **{"number": 0, "type": "", "label": "Rome", "label_suggestion": None, "value": "User is Roman"},
            **{"confidence": 3.0, "evidence_text": "I live in rome"},
        }
    ]


def test_one_candidate_whose_answer_is_cut_ends_so(checked):
    settled = checked(lambda shown: Reply("truncated") if shown["candidates"][-1]["number"] == 1 else agree(shown))

    assert settled.reasons == {"c2": "truncated"}
    assert settled.drops[0]["drop_detail"] == "part 2 of 2"
