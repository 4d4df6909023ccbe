import pytest

from stages import dialogues

TABLE = """
dialogue_id | user_id | messages::integer | rounds::integer
------------|---------|-------------------|----------------
d1          | ua      | 4                 | 2
d2          | ua      | 8                 | 4
d3          | ua      | 300               | 150
d4          | ub      | 4                 | 2
d5          | ub      | 3                 | 2
d6          | uc      | 249               | 125
d7          | uc      | 250               | 125
d8          | ud      | 5                 | 3
d8          | ud      | 5                 | 3
d9          | ue      | 6                 | 3
"""
PLACES = """
    create table conversations as
    select *, 'h' as conversation_hash, 'English' as language, null::timestamptz as ended_at,
        'a.jsonl' as shard, row_number() over () - 1 as row, 'a.jsonl:' || row as source_row
    from drawn
"""


@pytest.fixture
def kept(given, settle, source_of, talk):
    """Give the kept dialogues of the table, and the drops by source row, under the given knobs."""

    def make(drawing=TABLE, records=None, **knobs):
        db = given(drawn=drawing)
        db.execute(PLACES)
        records = records or [talk(messages=n) for (n,) in db.execute("select messages from drawn").fetchall()]
        limits = {"unit": "dialogue", "measure": "messages", "minimum": 6, "maximum": 249}
        return settle(db, dialogues, source=source_of({"a.jsonl": records}), **(limits | knobs))

    return make


@pytest.mark.parametrize(
    ("unit", "measure", "expected"),
    [
        ("dialogue", "messages", ["d2", "d6", "d9"]),
        ("dialogue", "rounds", ["d3", "d6", "d7"]),
        # ua 4 + 8 + 300, ub 4 + 3, uc 249 + 250, ud 5 (the row that repeats counts once), ue 6
        ("user", "messages", ["d4", "d5", "d9"]),
        # ua 2 + 4 + 150, ub 2 + 2, uc 125 + 125, ud 3, ue 3
        ("user", "rounds", ["d1", "d2", "d3"]),
    ],
)
def test_unit_and_measure_decide_what_counts_as_a_turn(kept, unit, measure, expected):
    assert kept(unit=unit, measure=measure).column("dialogue_id") == expected


def test_each_drop_says_why_and_by_how_much(kept):
    drops = kept(unit="dialogue", measure="messages").drops

    assert [(one["source_row"].removeprefix("a.jsonl:"), one["drop_reason"], one["drop_detail"]) for one in drops] == [
        ("0", "too_few_turns", "4 messages"),
        ("2", "too_many_turns", "300 messages"),
        ("3", "too_few_turns", "4 messages"),
        ("4", "too_few_turns", "3 messages"),
        ("6", "too_many_turns", "250 messages"),
        ("7", "too_few_turns", "5 messages"),
        ("8", "repeated_row", None),
    ]


def test_a_user_dropped_for_its_sum_tells_the_sum(kept):
    drops = kept(unit="user", measure="rounds").drops

    details = {one["dialogue_id"]: one["drop_detail"] for one in drops if one["drop_detail"]}
    assert details == {
        "d4": "4 rounds",
        "d5": "4 rounds",
        "d6": "250 rounds",
        "d7": "250 rounds",
        "d8": "3 rounds",
        "d9": "3 rounds",
    }


def test_of_a_row_that_stands_three_times_the_first_is_kept(kept):
    drawing = "dialogue_id | user_id | messages::integer | rounds::integer\n-\n" + "d1 | ua | 6 | 3\n" * 3

    settled = kept(drawing)

    assert settled.column("source_row") == ["a.jsonl:0"]
    assert settled.reasons == {"a.jsonl:1": "repeated_row", "a.jsonl:2": "repeated_row"}


def test_what_was_said_is_there_in_its_order_without_control_characters(kept, talk):
    texts = ["tab\tstays", "line\r\nbreaks stay", "bell\x07 goes", "zero \x00byte goes", "\x7f", "是的。😀\u200d"]
    said = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    drawing = "dialogue_id | user_id | messages::integer | rounds::integer\n-\nd1 | ua | 6 | 3"

    [row] = kept(drawing, [talk(conversation=said)]).rows

    clean = ["tab\tstays", "line\r\nbreaks stay", "bell goes", "zero byte goes", "", "是的。😀\u200d"]
    assert row["turns"] == [{"role": one["role"], "text": text} for one, text in zip(said, clean, strict=True)]


def test_a_dropped_conversation_brings_no_text_along(kept):
    assert {one["turns"] is None for one in kept().drops} == {True}


def test_minimum_and_maximum_are_both_kept(kept):
    assert kept(minimum=5, maximum=8).column("messages") == [8, 5, 6]
