import pytest

from stages import duplicate_memories

KNOBS = {"shingle_characters": 4, "threshold": 0.8, "permutations": 128}


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("self      | 0.50 | exact", "role_play | 0.95 | exact", "m1"),
        ("role_play | 0.95 | exact", "self      | 0.50 | exact", "m2"),
        ("self      | 0.65 | exact", "self      | 0.80 | exact", "m2"),
        ("self      | 0.80 | exact", "self      | 0.80 | exact", "m1"),
        ("self      | 0.50 | assistant", "self  | 0.50 | piece", "m2"),
        ("self      | 0.50 | not_found", "self  | 0.50 | fuzzy", "m2"),
    ],
)
def test_what_is_about_the_user_is_kept_then_the_surer_then_the_first_by_id(given, settle, first, second, kept):
    db = given(
        memories=f"""
        memory_id | user_id | label | value               | context   | confidence::double | evidence_way
        -
        m1        | ua      | one   | User lives in Lyon  | {first}
        m2        | ub      | two   | User lives in Lyon. | {second}
        m3        | uc      | one   | User owns two cats  | self      | 0.95               | exact
        """
    )

    [row] = settle(db, duplicate_memories, **KNOBS).rows

    assert row["kept_id"] == kept
    assert {row["kept_id"], row["member_id"]} == {"m1", "m2"}
    assert {row["kept_user_id"], row["member_user_id"]} == {"ua", "ub"}
    assert row["like_user_ids"] == [row["kept_user_id"]]


def test_a_memory_that_is_like_two_kept_ones_names_the_users_of_both(given, settle):
    db = given(
        memories="""
        memory_id | user_id | label | value                            | context | confidence::double | evidence_way
        -
        m1        | ua      | one   | User likes to paint small boats            | self    | 0.95               | exact
        m2        | ub      | one   | likes to paint small boats by the sea      | self    | 0.95               | exact
        m3        | uc      | one   | User likes to paint small boats by the sea | self    | 0.65               | exact
        """
    )

    [row] = settle(db, duplicate_memories, **KNOBS | {"threshold": 0.7, "permutations": 256}).rows

    assert (row["member_id"], row["kept_id"], row["like_user_ids"]) == ("m3", "m2", ["ua", "ub"])


@pytest.mark.parametrize(
    ("scope", "pairs"),
    [("all", [("m1", "m2"), ("m1", "m3"), ("m1", "m4")]), ("label", [("m1", "m3"), ("m2", "m4")])],
)
def test_within_labels_only_memories_of_one_label_are_compared(given, settle, scope, pairs):
    db = given(
        memories="""
        memory_id | user_id | label    | value                            | context | confidence::double | evidence_way
        -
        m1        | ua      | Pet      | User has a dog that likes to run | self    | 0.95               | exact
        m2        | ub      | UNMAPPED | User has a dog that likes to run | self    | 0.95               | exact
        m3        | uc      | Pet      | user has a dog that likes to run | self    | 0.95               | exact
        m4        | ud      | UNMAPPED | User has a dog that likes to run.| self    | 0.95               | exact
        m5        | ue      | Pet      | User bakes bread every weekend   | self    | 0.95               | exact
        """
    )

    rows = settle(db, duplicate_memories, **KNOBS, scope=scope).rows

    assert [(row["kept_id"], row["member_id"]) for row in rows] == pairs
