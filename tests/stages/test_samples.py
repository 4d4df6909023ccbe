from stages import samples

TABLES = {
    "dialogues": """
        dialogue_id | user_id | language
        ------------|---------|---------
        d1          | ua      | English
        d2          | ub      |
        d3          | uc      | English
        d4          | ud      | English
        d5          | ue      | English
    """,
    "memories": """
        memory_id | dialogue_id
        ----------|------------
        m1        | d1
        m2        | d1
        m3        | d2
        m4        | d4
    """,
    "sample_memories": """
        memory_id | dialogue_id | sample_rank::integer | drawn_for | type
        ----------|-------------|----------------------|-----------|---------
        m1        | d1          | 2                    | implicit  | direct
        m2        | d1          | 2                    | implicit  | indirect
        m3        | d2          | 1                    | floor     | direct
    """,
    "duplicate_dialogues": """
        member_id | kept_id
        ----------|--------
        d5        | d1
    """,
}


def test_a_sample_is_a_dialogue_with_the_memories_chosen_in_it(given, settle):
    first, second = settle(given(**TABLES), samples).rows

    assert first == {
        **{"rank": 1, "dialogue_id": "d2", "user_id": "ub", "language": None},
        **{"drawn_for": "floor", "memories": 1, "implicit_memories": 0},
    }
    assert second == {
        **{"rank": 2, "dialogue_id": "d1", "user_id": "ua", "language": "English"},
        **{"drawn_for": "implicit", "memories": 2, "implicit_memories": 1},
    }


def test_every_other_dialogue_is_dropped_with_the_reason_and_a_near_duplicate_with_the_one_that_it_is_like(
    given, settle
):
    drops = settle(given(**TABLES), samples).drops

    assert [(one["dialogue_id"], one["drop_reason"], one["drop_detail"]) for one in drops] == [
        ("d3", "no_memory", None),
        ("d4", "no_memory_selected", None),
        ("d5", "near_duplicate_dialogue", "d1"),
    ]
