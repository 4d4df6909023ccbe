import pytest

from stages import users

CONVERSATIONS = """
dialogue_id | user_id | messages::integer | ended_at::timestamptz  | language | country | user_known::boolean
------------|---------|-------------------|------------------------|----------|---------|--------------------
d1          | ua      | 4                 | 2023-05-01 00:00:00+00 | Spanish  | Peru    | true
d2          | ua      | 8                 | 2023-04-01 00:00:00+00 | English  | Chile   | true
d3          | ua      | 2                 |                        | English  | Peru    | true
d4          | ub      | 3                 | 2023-04-01 00:00:00+00 | English  | Peru    | true
d5          | uc      | 9                 |                        |          |         | false
d6          | ud      | 6                 | 2023-04-02 00:00:00+00 | Russian  | Peru    | true
d7          | ud      | 7                 | 2023-04-03 00:00:00+00 | German   | Peru    | true
d7          | ud      | 7                 | 2023-04-03 00:00:00+00 | German   | Peru    | true
"""
DIALOGUES = """
dialogue_id | user_id
------------|--------
d2          | ua
d5          | uc
d6          | ud
d7          | ud
"""
PLACES = """
    create or replace table conversations as
    select *, dialogue_id as conversation_hash, 'gpt-4' as chat_model, false as language_detected, false as toxic,
        false as redacted, 1 as rounds, 'wildchat_1m' as source_schema, 'a.jsonl' as shard,
        row_number() over () - 1 as row, 'a.jsonl:' || row as source_row
    from conversations
"""


@pytest.fixture
def made(given, settle):
    db = given(conversations=CONVERSATIONS, dialogues=DIALOGUES)
    db.execute(PLACES)
    return settle(db, users)


def test_a_user_sums_up_all_conversations_and_counts_those_kept(made):
    assert [(one["user_id"], one["conversations"], one["dialogues"], one["messages"]) for one in made.rows] == [
        ("ua", 3, 1, 14),
        ("uc", 1, 1, 9),
        ("ud", 2, 2, 13),  # the row that repeats counts once
    ]
    assert [str(made.rows[0][name])[:10] for name in ("first_seen", "last_seen")] == ["2023-04-01", "2023-05-01"]
    assert (made.rows[1]["first_seen"], made.rows[1]["last_seen"]) == (None, None)


def test_countries_and_languages_are_counted_and_unknown_ones_are_none(made):
    assert [(one["countries"], one["languages"], one["user_known"]) for one in made.rows] == [
        (2, 2, True),
        (0, 0, False),
        (1, 2, True),
    ]


def test_the_language_is_the_most_frequent_and_of_equals_the_first_by_name(made):
    assert made.column("language") == ["English", None, "German"]


def test_a_user_with_no_dialogue_kept_is_dropped(made):
    assert made.reasons == {"ub": "no_dialogue_kept"}
