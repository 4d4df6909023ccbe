import pytest

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
        memory_id | dialogue_id | sample_rank::integer | type
        ----------|-------------|----------------------|---------
        m1        | d1          | 2                    | direct
        m2        | d1          | 2                    | indirect
        m3        | d2          | 1                    | direct
    """,
    "duplicate_dialogues": """
        member_id | kept_id
        ----------|--------
        d5        | d1
    """,
}


def test_a_sample_is_a_dialogue_with_the_memories_chosen_in_it(given, settle):
    assert settle(given(**TABLES), samples).rows == [
        {"rank": 1, "dialogue_id": "d2", "user_id": "ub", "language": None, "memories": 1, "implicit_memories": 0},
        {"rank": 2, "dialogue_id": "d1", "user_id": "ua", "language": "English", "memories": 2, "implicit_memories": 1},
    ]


@pytest.mark.parametrize(
    ("dialogue", "reason"), [("d3", "no_memory"), ("d4", "no_memory_selected"), ("d5", "near_duplicate_dialogue")]
)
def test_every_other_dialogue_is_dropped_with_the_reason(given, settle, dialogue, reason):
    assert settle(given(**TABLES), samples).reasons[dialogue] == reason
