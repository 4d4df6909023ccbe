import pytest

from llm.gateway import Reply
from stages import candidate_memories

DIALOGUES = """
dialogue_id | conversation_hash | language | turns::struct(role varchar, text varchar)[]
-
d1          | h1                | English  | [{'role': user, 'text': I paint}, {'role': assistant, 'text': Lovely}]
d2          | h2                | Spanish  | [{'role': user, 'text': Pinto}]
d3          | h3                |          | [{'role': user, 'text': I paint!}]
"""
NO_DUPLICATES = "member_id | kept_id\n-"
PAINTS = {
    "type": "direct",
    "label": "Preferences/Entertainment",
    "value": "User paints",
    "confidence": 0.95,
    "evidence_text": "I paint",
}
STATUSES = (
    "truncated",
    "filtered",
    "refused",
    "reasoning_only",
    "http_error",
    "not_recorded",
)


@pytest.fixture
def extracted(given, settle, model_says):
    """Give what comes of the dialogues where the extractor answers so, and the inputs that it was shown."""

    def make(answer, duplicates=NO_DUPLICATES):
        model = model_says(answer, "a-model")
        settled = settle(
            given(dialogues=DIALOGUES, duplicate_dialogues=duplicates), candidate_memories, extractor=model
        )
        return settled, model.provider.requests

    return make


def test_each_item_is_a_row_as_it_was_written(extracted):
    odd = {**PAINTS, "type": "", "label": None, "label_suggestion": "Arts/Painting", "confidence": 7, "value": " "}

    settled, _ = extracted(
        lambda shown: {"memory_items": [PAINTS, odd] if shown["language"] == "Spanish" else [PAINTS]}
    )

    assert [(row["dialogue_id"], row["number"]) for row in settled.rows] == [("d1", 0), ("d2", 0), ("d2", 1), ("d3", 0)]
    assert {name: settled.rows[2][name] for name in odd} == odd
    assert set(settled.column("extractor")) == {"a-model"}


def test_the_model_is_shown_messages_with_their_index_and_the_language(extracted):
    _, [first, *_] = extracted({"memory_items": []})

    assert first.subject == "h1"
    assert first.input == {
        "language": "English",
        "dialogue": [
            {"index": 0, "role": "user", "text": "I paint"},
            {"index": 1, "role": "assistant", "text": "Lovely"},
        ],
    }


def test_an_id_is_the_same_as_long_as_dialogue_and_number_are(extracted):
    (one, _), (other, _) = (extracted({"memory_items": [item]}) for item in (PAINTS, {**PAINTS, "value": "Paints"}))

    assert one.column("candidate_id") == other.column("candidate_id")
    assert len(set(one.column("candidate_id"))) == 3


def test_a_near_duplicate_dialogue_is_not_read(extracted):
    settled, asked = extracted({"memory_items": [PAINTS]}, "member_id | kept_id\n-\nd3 | d1")

    assert [one.subject for one in asked] == ["h1", "h2"]
    assert [(one["dialogue_id"], one["drop_reason"], one["drop_detail"]) for one in settled.drops] == [
        ("d3", "near_duplicate_dialogue", "d1"),
    ]


def test_no_memories_is_told_apart_from_no_answer(extracted):
    settled, _ = extracted(lambda shown: {"memory_items": []} if shown["language"] == "Spanish" else "")

    assert settled.reasons == {"d1": "empty", "d2": "no_memories", "d3": "empty"}


@pytest.mark.parametrize("status", STATUSES)
def test_a_call_that_failed_is_a_drop_with_its_status(extracted, status):
    settled, _ = extracted(
        lambda shown: Reply(status, detail="why") if len(shown["dialogue"]) == 2 else {"memory_items": [PAINTS]}
    )

    assert settled.column("dialogue_id") == ["d2", "d3"]
    assert [(one["dialogue_id"], one["drop_reason"], one["drop_detail"]) for one in settled.drops] == [
        ("d1", status, "why")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "I paint, she said",
        '{"memory_items": [{"type": "direct", "lab',
        {"items": []},
        {"memory_items": [{**PAINTS, "value": None}]},
        {"memory_items": [{**PAINTS, "confidence": "sure"}]},
        '{"memory_items": [{"type": "direct", "label": "x", "value": "x", "confidence": NaN, "evidence_text": "x"}]}',
    ],
)
def test_an_answer_of_another_form_is_a_drop_and_never_no_memories(extracted, answer):
    settled, _ = extracted(answer)

    assert settled.reasons == dict.fromkeys(("d1", "d2", "d3"), "schema_error")


def test_half_a_surrogate_pair_in_an_answer_costs_no_other_row(extracted):
    settled, _ = extracted(
        r'{"memory_items": [{"type": "direct", "label": "x", "value": "half \ud83d", '
        '"confidence": 1, "evidence_text": "x"}]}'
    )

    assert settled.column("value") == ["half ?"] * 3
