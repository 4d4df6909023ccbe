import pytest

from evaluation.leaks import Limits
from llm.gateway import Reply
from stages import query_drafts

TARGETS = """
target_id | kind       | memory_id
----------|------------|----------
t1        | retrieval  | m1
t2        | CF         | m2
t3        | extraction |
t4        | update     | m1
"""
MEMORIES = """
memory_id | type   | label           | value                     | confidence::double | evidence_text         | emotion | context | language
-
m1        | direct | Possessions/Pet | User breeds grey parrots  | 0.95               | my parrots in Lisbon  |         | self    | English
m2        | direct | Preferences/Food | 用户喜欢爵士乐           | 0.95               | 我喜欢爵士乐          |         | self    |
"""  # noqa: E501 # a drawn table
GOOD, LEAKY = "What should I buy on Saturday?", "What do grey parrots eat in Lisbon?"


def draft(query, **changes):
    return {"query": query, "reference_answer": "Seed.", "rubric": "Names seed.", **changes}


@pytest.fixture
def drafted(given, settle, model_says):
    """Give the drafts where the generator answers so, and the inputs that it was shown."""

    def make(answer, rewrites=3):
        model = model_says(answer, "a-generator")
        db = given(targets=TARGETS, memories=MEMORIES)
        settled = settle(db, query_drafts, generator=model, rewrites=rewrites, limits=Limits(1, 0.5))
        return settled, [request.input for request in model.provider.requests]

    return make


def about_parrots(*answers):
    """Answer for m1 with one answer an attempt, and for others with what leaks nothing."""
    return lambda shown: answers[shown["attempt"]] if shown["memory"]["memory_id"] == "m1" else draft(GOOD)


def test_a_draft_that_gives_nothing_away_is_the_only_one(drafted):
    settled, asked = drafted(draft(GOOD))

    assert [(row["target_id"], row["attempt"], row["leaks"], row["shared_words"]) for row in settled.rows] == [
        *(("t1", 0, False, []), ("t2", 0, False, [])),
    ]
    assert [(one["ability"], one["memory"]["memory_id"], one["finding"]) for one in asked] == [
        *(("retrieval", "m1", []), ("CF", "m2", [])),
    ]
    assert set(settled.column("generator")) == {"a-generator"}


def test_a_draft_that_leaks_goes_back_with_the_words_found(drafted):
    settled, asked = drafted(about_parrots(draft(LEAKY), draft("Which parrot food in Lisbon?"), draft(GOOD)))

    assert [
        (row["attempt"], row["shared_words"], row["leaks"]) for row in settled.rows if row["target_id"] == "t1"
    ] == [
        (0, ["grey", "lisbon", "parrot"], True),
        (1, ["lisbon", "parrot"], True),
        (2, [], False),
    ]
    assert [(one["attempt"], one["finding"]) for one in asked if one["ability"] == "retrieval"] == [
        *((0, []), (1, ["grey", "lisbon", "parrot"]), (2, ["lisbon", "parrot"])),
    ]


@pytest.mark.parametrize("rewrites", [0, 2])
def test_a_draft_is_written_again_no_more_often_than_allowed(drafted, rewrites):
    settled, _ = drafted(about_parrots(*[draft(LEAKY)] * 9), rewrites)

    assert [row["leaks"] for row in settled.rows if row["target_id"] == "t1"] == [True] * (rewrites + 1)


def test_chinese_leaks_whatever_the_language_is_called(drafted):
    settled, _ = drafted(draft("周末去哪里听爵士乐？"), rewrites=0)

    assert [(row["target_id"], row["leaks"]) for row in settled.rows] == [("t1", False), ("t2", True)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        *((Reply(status), status) for status in ("truncated", "filtered", "refused", "not_recorded")),
        *(
            ("", "empty"),
            ("Why not?", "schema_error"),
            (draft(" "), "empty_draft"),
            (draft(GOOD, rubric=""), "empty_draft"),
        ),
    ],
)
def test_a_draft_that_is_none_is_a_drop(drafted, answer, reason):
    settled, _ = drafted(about_parrots(answer))

    assert settled.reasons == {"t1": reason}
    assert settled.column("target_id") == ["t2"]


def test_a_rewriting_that_failed_leaves_the_leaking_draft_the_last(drafted):
    settled, _ = drafted(about_parrots(draft(LEAKY), Reply("filtered")))

    assert [(row["attempt"], row["leaks"]) for row in settled.rows if row["target_id"] == "t1"] == [(0, True)]
    assert settled.reasons == {"t1": "filtered"}
