import hashlib
from collections import Counter

import pytest

from stages import targets

KNOBS = {"minimum_confidence": 0.65, "label_caps": {"PA": 55}, "caps": {"EI": 500}}
SAMPLES = "dialogue_id | user_id | language\n-\n"
SPLITS = "user_id | split | role\n-\n"
GOLD = "memory_id | dialogue_id | user_id | language | label | confidence::double | verified::boolean | emotion\n-\n"
MEMORIES = "memory_id | dialogue_id | user_id | language | label | confidence::double | context | evidence_way\n-\n"


@pytest.fixture
def aimed(given, settle):
    """Give the targets of gold memories and others, in the role of their users."""

    def make(gold=(), others=(), samples=(), splits=("ua | dev | any",), duplicates=(), **knobs):
        db = given(
            samples=SAMPLES + "\n".join(samples),
            splits=SPLITS + "\n".join(splits),
            gold_memories=GOLD + "\n".join(gold),
            memories=MEMORIES + "\n".join(row if row.count("|") == 7 else f"{row} | exact" for row in others),
            duplicate_memories="member_id\n-\n" + "\n".join(duplicates),
        )
        return settle(db, targets, **(KNOBS | knobs))

    return make


def gold(n, label="Plans/Schedule", user="ua", language="English", confidence=0.95, verified=False, emotion=""):
    return f"m{n} | d{n} | {user} | {language} | {label} | {confidence} | {verified} | {emotion}"


@pytest.mark.parametrize(
    ("label", "kinds"),
    [
        *((f"Personal_Background/{end}", {"PA"}) for end in ("Identity", "Location")),
        *((f"Social_Relationships/{end}", {"PA"}) for end in ("Family", "Adversarial")),
        *(("States_Experiences/Past_Experience", {"PA"}), ("States_Experiences/Mental_State", set())),
        *(("Thoughts/Goals/Long_Term", {"PA"}), ("Thoughts/Goals/Short_Term", set())),
        *(("Preferences/Food", {"PF_general"}), ("Preferences/Interaction_Preferences", {"PF_interaction"})),
        *(("Possessions/Pet", {"PF_general"}), ("Possessions/Car", {"PF_general"}), ("Possessions/House", set())),
        *(("Constraints_and_Boundaries/Do_Not_Remember", {"CF"}), ("Plans/Schedule", set()), ("UNMAPPED", set())),
    ],
)
def test_an_ability_is_about_certain_labels(aimed, label, kinds):
    assert {row["kind"] for row in aimed([gold(1, label)]).rows} == {"update", "retrieval"} | kinds


@pytest.mark.parametrize(
    ("split", "role", "kinds"),
    [
        ("dev", "any", {"extraction", "update", "retrieval", "PA", "PF_general", "CF", "EI", "VRA"}),
        ("test", "extraction", {"extraction"}),
        ("test", "memory", {"update", "PA"}),
        ("test", "retrieval", {"retrieval"}),
        ("test", "utilization", {"PF_general", "CF", "EI", "VRA"}),
        ("bank", "held_out_bank", set()),
        ("bank", "public_bank", set()),
    ],
)
def test_a_role_keeps_apart_what_one_track_shows_and_another_asks_for(aimed, split, role, kinds):
    labels = ("Personal_Background/Identity", "Preferences/Food", "Constraints_and_Boundaries/Sensitive_Topics")

    settled = aimed(
        [gold(n, label, emotion="joy") for n, label in enumerate(labels)],
        others=["m9 | d9 | ua | English | Plans/Schedule | 0.95 | role_play"],
        samples=["d1 | ua | English"],
        splits=[f"ua | {split} | {role}"],
    )

    assert {row["kind"] for row in settled.rows} == kinds
    assert {row["split"] for row in settled.rows} <= {split}


def test_a_target_is_named_by_its_kind_and_its_memory_or_dialogue(aimed):
    settled = aimed([gold(1)], samples=["d1 | ua | English"])

    named = {row["kind"]: (row["target_id"], row["memory_id"], row["label"]) for row in settled.rows}
    assert named == {
        kind: ("t" + hashlib.sha256(f"{kind}|{about}".encode()).hexdigest()[:16], memory, label)
        for kind, about, memory, label in (
            ("extraction", "d1", None, None),
            ("update", "m1", "m1", "Plans/Schedule"),
            ("retrieval", "m1", "m1", "Plans/Schedule"),
        )
    }


def test_what_looks_like_a_memory_but_is_none_serves_vra_alone(aimed):
    others = [f"m{n} | d{n} | ua | English | Preferences/Food | 0.95 | {context}"
              for n, context in enumerate(("self", "role_play", "translation", "for_others", "role_play"))]  # fmt: skip

    unsaid = [f"m{n} | d{n} | ua | English | Preferences/Food | 0.95 | role_play | {way}"
              for n, way in ((5, "assistant"), (6, "not_found"))]  # fmt: skip

    settled = aimed(others=[*others, *unsaid], duplicates=["m4"])

    assert sorted((row["kind"], row["memory_id"]) for row in settled.rows) == [
        ("VRA", "m1"),
        ("VRA", "m2"),
        ("VRA", "m3"),
    ]


@pytest.mark.parametrize(
    ("language", "emotion", "is_target"),
    [
        ("English", "joy", True),
        ("Chinese", "joy", True),
        ("Spanish", "joy", False),
        ("", "joy", False),
        ("English", "", False),
    ],
)
def test_ei_is_about_emotions_in_english_and_chinese(aimed, language, emotion, is_target):
    settled = aimed([gold(1, language=language, emotion=emotion)])

    assert any(row["kind"] == "EI" for row in settled.rows) is is_target


def test_each_user_gives_one_update_and_one_retrieval_target_a_verified_one_if_there_is_one(aimed):
    rows = [gold(n, user=f"u{n % 3}", verified=n == 4) for n in range(9)]

    settled = aimed(rows, splits=[f"u{n} | dev | any" for n in range(3)])

    kept = [(row["kind"], row["user_id"]) for row in settled.rows]
    assert Counter(kept) == {(kind, f"u{n}"): 1 for kind in ("update", "retrieval") for n in range(3)}
    assert {row["memory_id"] for row in settled.rows if row["user_id"] == "u1"} == {"m4"}
    assert set(settled.reasons.values()) == {"other_target_of_user"}


def test_what_is_not_sure_enough_is_dropped(aimed):
    settled = aimed([gold(1, confidence=0.5)])

    assert settled.rows == []
    assert set(settled.reasons.values()) == {"low_confidence"}


def test_a_label_cap_counts_within_a_kind_and_verified_memories_go_first(aimed):
    labels = ("Personal_Background/Identity", "Personal_Background/Location")
    rows = [gold(n, labels[n % 2], user=f"u{n}", verified=n in (2, 4)) for n in range(8)]

    settled = aimed(rows, splits=[f"u{n} | dev | any" for n in range(8)], label_caps={"PA": 2})

    of_label = [(row["label"], row["memory_id"]) for row in settled.rows if row["kind"] == "PA"]
    assert Counter(label for label, _ in of_label) == dict.fromkeys(labels, 2)
    assert {memory for label, memory in of_label if label == labels[0]} == {"m2", "m4"}
    assert Counter(settled.reasons.values()) == {"label_cap": 4}


def test_a_cap_counts_a_kind_and_for_ei_each_language_apart(aimed):
    rows = [gold(n, user=f"u{n}", language=("English", "Chinese")[n % 2], emotion="joy") for n in range(10)]
    others = [f"m{n} | d{n} | u{n} | English | Plans/Schedule | 0.95 | role_play" for n in range(10, 16)]

    settled = aimed(rows, others, splits=[f"u{n} | dev | any" for n in range(16)], caps={"EI": 3, "VRA": 4})

    kinds = Counter(row["kind"] for row in settled.rows)
    assert (kinds["EI"], kinds["VRA"]) == (6, 4)
    assert Counter(one["drop_detail"] for one in settled.drops) == {"EI": 4, "VRA": 2}
    assert set(settled.reasons.values()) == {"cap"}


def test_without_caps_everything_sure_is_a_target(aimed):
    settled = aimed([gold(n, "Preferences/Food", emotion="joy") for n in range(9)], label_caps={}, caps={})

    kinds = Counter(row["kind"] for row in settled.rows)
    assert kinds == {"PF_general": 9, "EI": 9, "update": 1, "retrieval": 1}


def test_a_user_taken_away_changes_nobody_elses_targets(aimed):
    rows = [gold(n, user=f"u{n % 5}") for n in range(20)]
    splits = [f"u{n} | dev | any" for n in range(5)]

    whole, less = aimed(rows, splits=splits), aimed([row for row in rows if " u2 " not in row], splits=splits)

    assert [row for row in whole.rows if row["user_id"] != "u2"] == less.rows
