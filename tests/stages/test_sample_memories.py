import hashlib

import pytest

from stages import sample_memories

NONE = "member_id | kept_id\n-"
KNOBS = {"dialogues_per_user": 1, "label_cap": 1000, "limit": 2500}


def memory_table(rows):
    head = "memory_id | dialogue_id | user_id | label | type | context | confidence::double | evidence_way\n-\n"
    return head + "\n".join(row if row.count("|") == 7 else f"{row} | exact" for row in rows)


def by_hash(dialogue_ids, salt="sample|"):
    return sorted(dialogue_ids, key=lambda one: hashlib.sha256(f"{salt}{one}".encode()).hexdigest())


@pytest.fixture
def chosen(given, settle):
    def make(*rows, duplicates=NONE, **knobs):
        db = given(memories=memory_table(rows), duplicate_memories=duplicates)
        return settle(db, sample_memories, **(KNOBS | knobs))

    return make


def test_each_user_gives_the_dialogue_richest_in_implicit_then_in_all_memories(chosen):
    rows = (
        *(
            "m1 | d1 | ua | Plans/Schedule | direct | self | 0.95",
            "m2 | d1 | ua | Plans/Schedule | direct | self | 0.95",
        ),
        "m3 | d2 | ua | Plans/Schedule | indirect | self | 0.65",
        *(
            "m4 | d3 | ub | Plans/Schedule | direct | self | 0.95",
            "m5 | d4 | ub | Plans/Schedule | direct | self | 0.95",
        ),
        "m6 | d4 | ub | Possessions/Pet | direct | self | 0.95",
    )

    settled = chosen(*rows)

    assert set(settled.column("dialogue_id")) == {"d2", "d4"}
    assert settled.reasons == dict.fromkeys(("m1", "m2", "m4"), "other_dialogue_of_user")
    assert {row["dialogue_id"] for row in chosen(*rows, dialogues_per_user=2).rows} == {"d1", "d2", "d3", "d4"}


def test_samples_with_an_implicit_memory_come_first_then_by_hash(chosen):
    rows = [f"m{n} | d{n} | u{n} | Plans/Schedule | {'indirect' if n % 2 else 'direct'} | self | 0.8" for n in range(8)]

    settled = chosen(*rows)

    expected = [*by_hash(f"d{n}" for n in (1, 3, 5, 7)), *by_hash(f"d{n}" for n in (0, 2, 4, 6))]
    assert settled.column("dialogue_id") == expected
    assert settled.column("sample_rank") == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_limit_counts_samples_and_ranks_have_no_gap(chosen):
    rows = [f"m{n}{letter} | d{n} | u{n} | Plans/Schedule | direct | self | 0.8" for n in range(5) for letter in "ab"]

    settled = chosen(*rows, limit=3)

    assert settled.column("sample_rank") == [1, 1, 2, 2, 3, 3]
    assert set(settled.reasons.values()) == {"sample_limit"}
    assert {memory_id[:2] for memory_id in settled.reasons} == {
        one.replace("d", "m") for one in by_hash(f"d{n}" for n in range(5))[3:]
    }


def test_the_label_cap_counts_memories_in_the_order_of_samples_the_surest_first(chosen):
    first, second, third = by_hash(("d1", "d2", "d3"))
    rows = (
        f"m1 | {first} | u1 | Possessions/Pet | direct | self | 0.65",
        f"m2 | {first} | u1 | Possessions/Pet | direct | self | 0.95",
        f"m3 | {second} | u2 | Possessions/Pet | direct | self | 0.95",
        f"m4 | {third} | u3 | Possessions/Car | direct | self | 0.95",
        f"m5 | {third} | u3 | Possessions/Pet | direct | self | 0.95",
    )

    settled = chosen(*rows, label_cap=1)

    assert [(row["memory_id"], row["sample_rank"]) for row in settled.rows] == [("m2", 1), ("m4", 2)]
    assert [
        (one["memory_id"], one["drop_reason"], one["drop_detail"]) for one in settled.drops if one["memory_id"] == "m3"
    ] == [
        ("m3", "label_cap", "Possessions/Pet"),
    ]
    assert settled.reasons == dict.fromkeys(("m1", "m3", "m5"), "label_cap")


def test_what_is_not_about_the_user_or_nearly_said_before_is_never_chosen(chosen):
    settled = chosen(
        "m1 | d1 | ua | Plans/Schedule | direct | self | 0.95",
        "m2 | d1 | ua | Plans/Schedule | indirect | role_play | 0.95",
        "m3 | d2 | ua | Plans/Schedule | indirect | self | 0.95",
        "m4 | d3 | ub | Plans/Schedule | direct | for_others | 0.95",
        "m5 | d4 | uc | Plans/Schedule | direct | translation | 0.95",
        duplicates="member_id | kept_id\n-\nm3 | m1\nm5 | m1",
    )

    assert settled.column("memory_id") == ["m1"]
    assert settled.reasons == {
        "m2": "context_role_play",
        "m3": "near_duplicate_memory",
        "m4": "context_for_others",
        "m5": "context_translation",
    }
    assert {one["memory_id"]: one["drop_detail"] for one in settled.drops}["m3"] == "m1"


def test_a_user_taken_away_changes_no_other_order(chosen):
    rows = [f"m{n} | d{n} | u{n} | Plans/Schedule | direct | self | 0.8" for n in range(12)]
    whole = chosen(*rows).column("dialogue_id")

    assert chosen(*rows[:5], *rows[6:]).column("dialogue_id") == [one for one in whole if one != "d5"]


def test_what_the_user_never_said_is_no_memory_of_a_sample(chosen):
    memory = "m{} | d1 | ua | Plans/Schedule | direct | self | 0.5 | {}"
    ways = ["exact", "assistant", "not_found"]

    settled = chosen(*(memory.format(number, way) for number, way in enumerate(ways)))

    assert settled.column("memory_id") == ["m0"]
    assert settled.reasons == {"m1": "no_words_of_user", "m2": "no_words_of_user"}
