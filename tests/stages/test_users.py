from stages import users

CONVERSATIONS = """
dialogue_id | user_id | messages::integer | ended_at::timestamptz  | language
------------|---------|-------------------|------------------------|---------
d1          | ua      | 4                 | 2023-05-01 00:00:00+00 | Spanish
d2          | ua      | 8                 | 2023-04-01 00:00:00+00 | English
d3          | ua      | 2                 |                        | English
d4          | ub      | 3                 | 2023-04-01 00:00:00+00 | English
d5          | uc      | 9                 |                        |
d6          | ud      | 6                 | 2023-04-02 00:00:00+00 | Russian
d7          | ud      | 7                 | 2023-04-03 00:00:00+00 | German
"""
DIALOGUES = """
dialogue_id | user_id
------------|--------
d2          | ua
d5          | uc
d6          | ud
d7          | ud
"""


def test_a_user_sums_up_all_conversations_and_counts_those_kept(given, settle):
    rows = settle(given(conversations=CONVERSATIONS, dialogues=DIALOGUES), users).rows

    assert [(one["user_id"], one["conversations"], one["dialogues"], one["messages"]) for one in rows] == [
        ("ua", 3, 1, 14),
        ("uc", 1, 1, 9),
        ("ud", 2, 2, 13),
    ]
    assert [str(rows[0][name])[:10] for name in ("first_seen", "last_seen")] == ["2023-04-01", "2023-05-01"]
    assert (rows[1]["first_seen"], rows[1]["last_seen"]) == (None, None)


def test_the_language_is_the_most_frequent_and_of_equals_the_first_by_name(given, settle):
    assert settle(given(conversations=CONVERSATIONS, dialogues=DIALOGUES), users).column("language") == [
        *("English", None, "German"),
    ]


def test_a_user_with_no_dialogue_of_the_right_length_is_dropped(given, settle):
    assert settle(given(conversations=CONVERSATIONS, dialogues=DIALOGUES), users).reasons == {"ub": "no_dialogue_kept"}
