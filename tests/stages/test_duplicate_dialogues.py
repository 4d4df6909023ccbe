from stages import duplicate_dialogues

KNOBS = {"shingle_characters": 4, "threshold": 0.8, "permutations": 128}


HEAD = """
dialogue_id | user_id | user_known::boolean | ended_at::timestamptz | turns::struct(role varchar, text varchar)[]
-
"""


def pairs(settled):
    return [(row["kept_id"], row["member_id"], row["kept_user_id"], row["member_user_id"]) for row in settled.rows]


def test_only_what_users_say_is_compared(given, settle):
    db = given(
        dialogues=HEAD
        + """\
        d1 | ua | true | 2023-01-01 00:00:00+00 | [{'role': user, 'text': plan a trip to Rome}, {'role': assistant, 'text': take the night train}]
        d2 | ub | true | 2023-01-02 00:00:00+00 | [{'role': user, 'text': plan a trip to Rome}, {'role': assistant, 'text': of course I can help}]
        d3 | uc | true | 2023-01-03 00:00:00+00 | [{'role': user, 'text': bake some bread now}, {'role': assistant, 'text': take the night train}]
        """  # noqa: E501 # a drawn table
    )

    assert pairs(settle(db, duplicate_dialogues, **KNOBS)) == [("d1", "d2", "ua", "ub")]


def test_the_earliest_is_kept_and_one_without_a_time_comes_last(given, settle):
    said = "[{'role': user, 'text': plan a trip to Rome}]"
    db = given(
        dialogues=HEAD
        + f"""\
        d1          | ua      | true |                        | {said}
        d2          | ub      | true | 2023-01-02 00:00:00+00 | {said}
        d3          | ua      | true | 2023-01-01 00:00:00+00 | {said}
        d4          | ud      | true | 2023-01-01 00:00:00+00 | {said}
        """
    )

    assert pairs(settle(db, duplicate_dialogues, **KNOBS)) == [
        *(("d3", "d4", "ua", "ud"), ("d3", "d2", "ua", "ub"), ("d3", "d1", "ua", "ua")),
    ]


def test_a_dialogue_that_is_like_two_kept_ones_names_the_users_of_both(given, settle):
    texts = (
        "we would like to paint small boats",
        "like to paint small boats by the sea",
        "we would like to paint small boats by the sea",
    )
    rows = [
        f"d{n} | u{n} | true | 2023-01-0{n + 1} 00:00:00+00 | [{{'role': user, 'text': {text}}}]"
        for n, text in enumerate(texts)
    ]
    db = given(dialogues=HEAD + "\n".join(rows))

    [row] = settle(db, duplicate_dialogues, **KNOBS | {"threshold": 0.7, "permutations": 256}).rows

    assert (row["member_id"], row["kept_id"], row["like_user_ids"]) == ("d2", "d1", ["u0", "u1"])


def test_dialogues_in_which_the_user_says_nothing_in_letters_are_not_alike(given, settle):
    db = given(
        dialogues=HEAD
        + """\
        d1 | ua | true | | [{'role': user, 'text': 😀}, {'role': assistant, 'text': how nice}]
        d2 | ub | true | | [{'role': user, 'text': 🎉}, {'role': assistant, 'text': how nice}]
        d3 | uc | true | | [{'role': assistant, 'text': how nice}]
        """
    )

    assert settle(db, duplicate_dialogues, **KNOBS).rows == []


def test_of_those_that_ended_at_one_time_one_whose_user_is_known_is_kept(given, settle):
    said = "[{'role': user, 'text': plan a trip to Rome}]"
    db = given(
        dialogues=HEAD
        + f"""\
        d1          | ua      | false               | 2023-01-01 00:00:00+00 | {said}
        d2          | ub      | true                | 2023-01-01 00:00:00+00 | {said}
        d3          | uc      | true                | 2023-01-01 00:00:00+00 | {said}
        d4          | ud      | true                |                        | {said}
        d5          | ue      | false               | 2022-12-31 23:59:59+00 | {said.replace("Rome", "Oslo in the North by bicycle")}
        d6          | uf      | true                | 2023-01-01 00:00:00+00 | {said.replace("Rome", "Oslo in the North by bicycle")}
        """  # noqa: E501 # a drawn table
    )

    assert pairs(settle(db, duplicate_dialogues, **KNOBS)) == [
        *(("d2", "d3", "ub", "uc"), ("d5", "d6", "ue", "uf"), ("d2", "d1", "ub", "ua"), ("d2", "d4", "ub", "ud")),
    ]
