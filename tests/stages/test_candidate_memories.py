import json
import re

import pytest

from llm.gateway import Reply, Terms
from llm.tokens import expected_tokens
from stages import candidate_memories
from stages.candidate_memories import PROMPT

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


LONG = 12
"""How many messages of the user the long dialogue has."""


@pytest.fixture
def long_read(given, settle, model_says):
    """Give what comes of a dialogue in which the user tells one thing in each message, and what the model was shown."""

    def make(answer, input_tokens=None, words=40):
        texts = [f"I own {thing} goats. {'word ' * words}" for thing in range(LONG)]
        turns = [{"role": role, "text": text} for text in texts for role in ("user", "assistant")]
        db = given(
            dialogues="dialogue_id | conversation_hash | language\n-\nd1 | h1 | English",
            duplicate_dialogues=NO_DUPLICATES,
        )
        db.execute("alter table dialogues add column turns struct(role varchar, text varchar)[]")
        db.execute("update dialogues set turns = $turns", {"turns": turns})
        model = model_says(answer)
        model.provider.terms = Terms(input_tokens=input_tokens)
        settled = settle(db, candidate_memories, extractor=model)
        return settled, [request.input["dialogue"] for request in model.provider.requests]

    return make


def goats(shown):
    """An extractor that finds the goats of each message that it is shown."""
    found = [
        match[0]
        for one in shown["dialogue"]
        if one["role"] == "user" and (match := re.match(r"I own \d+ goats", one["text"]))
    ]
    return {"memory_items": [{**PAINTS, "value": one, "evidence_text": one} for one in found]}


def indices(shown):
    return [one["index"] for one in shown]


def test_a_dialogue_that_is_too_long_is_read_in_windows_and_each_thing_is_kept_once(long_read):
    whole, [asked] = long_read(goats)
    room = expected_tokens(PROMPT.text) + 1000
    settled, shown = long_read(goats, room)

    assert indices(asked) == [*range(2 * LONG)]
    assert settled.rows == whole.rows
    assert settled.column("value") == [f"I own {thing} goats" for thing in range(LONG)]
    assert settled.column("number") == [*range(LONG)]
    assert len(shown) > 2
    assert {index for window in shown for index in indices(window)} == {*range(2 * LONG)}
    assert all(set(indices(one)) & set(indices(next)) for one, next in zip(shown, shown[1:], strict=False))
    assert max(expected_tokens(PROMPT.text + json.dumps(window)) for window in shown) <= room


def test_a_message_longer_than_any_window_is_read_to_its_end(long_read):
    settled, shown = long_read(goats, expected_tokens(PROMPT.text) + 700, words=1500)
    read = "".join(one["text"] for window in shown for one in window if one["index"] == 2 * LONG - 2)

    assert settled.column("value") == [f"I own {thing} goats" for thing in range(LONG)]
    assert read.count("word") >= 1500


@pytest.mark.parametrize("status", ["truncated", "too_long"])
def test_a_question_that_is_too_much_is_asked_again_in_halves(long_read, status):
    def answer(shown):
        return Reply(status) if len(shown["dialogue"]) > 6 else goats(shown)

    settled, shown = long_read(answer)

    assert settled.rows == long_read(goats)[0].rows
    assert [(window[0]["index"], len(window)) for window in shown] == [
        (0, 24),
        *((0, 12), (12, 12)),
        *((0, 6), (6, 6), (12, 6), (18, 6)),
    ]


def test_windows_that_are_too_much_are_halved_too(long_read):
    room = expected_tokens(PROMPT.text) + 1000

    settled, _ = long_read(lambda shown: Reply("too_long") if len(shown["dialogue"]) > 3 else goats(shown), room)

    assert settled.rows == long_read(goats)[0].rows


def test_a_dialogue_of_which_a_part_has_no_answer_is_dropped_whole(long_read):
    def answer(shown):
        if len(shown["dialogue"]) > 12:
            return Reply("truncated")
        return Reply("refused", detail="why") if shown["dialogue"][0]["index"] else goats(shown)

    settled, _ = long_read(answer)

    assert settled.rows == []
    assert [(one["drop_reason"], one["drop_detail"]) for one in settled.drops] == [("refused", "part 2 of 2: why")]


def test_a_message_whose_answer_is_cut_again_and_again_ends_so(extracted):
    settled, asked = extracted(
        lambda shown: (
            Reply("truncated")
            if shown["dialogue"][0]["index"] == 0 and shown["language"] == "English"
            else {"memory_items": []}
        )
    )

    assert [(one["dialogue_id"], one["drop_reason"], one["drop_detail"]) for one in settled.drops] == [
        ("d1", "truncated", "part 1 of 2"),
        ("d2", "no_memories", None),
        ("d3", "no_memories", None),
    ]
    assert [len(one.input["dialogue"]) for one in asked] == [2, 1, 1, 1, 1]


def test_a_message_that_alone_is_too_long_for_the_server_is_read_in_parts(long_read):
    settled, shown = long_read(
        lambda shown: Reply("too_long") if len(json.dumps(shown)) > 4000 else goats(shown), words=1500
    )

    assert settled.column("value") == [f"I own {thing} goats" for thing in range(LONG)]
    assert (
        sum(one["text"].count("word") for window in shown if len(json.dumps(window)) < 3900 for one in window)
        == 2 * LONG * 1500
    )


def test_the_same_answers_give_the_same_rows_in_the_same_order(long_read):
    room = expected_tokens(PROMPT.text) + 1000

    assert long_read(goats, room)[0].rows == long_read(goats, room)[0].rows
