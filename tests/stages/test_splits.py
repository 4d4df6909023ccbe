import pytest

from stages import splits
from warehouse import BadInputError

SHARES = {"examples": 0.02, "dev": 0.18, "validation": 0.2, "test": 0.6}
KNOBS = {"shares": SHARES, "extraction_share": 0.5, "bank_memories": 2}
BANK = {"uy": (1, 0), "uz": (1, 0)}


def drawn(users, memory_pairs=(), dialogue_pairs=()):
    """Tables of users with (memories, gold memories) each, and of pairs of users joined by near-duplicates."""
    memories = [(f"m{user}{n}", user, n < gold) for user, (count, gold) in users.items() for n in range(count)]
    twins = [f"m{other}0 | m{one}0 | {one} | {other}" for one, other in memory_pairs]
    return {
        "users": "\n".join(["user_id\n-", *users]),
        "memories": "\n".join(["memory_id | user_id | context\n-", *(f"{m} | {u} | self" for m, u, _ in memories)]),
        "gold_memories": "\n".join(["memory_id\n-", *(m for m, _, is_gold in memories if is_gold)]),
        "duplicate_memories": "\n".join(["member_id | kept_id | kept_user_id | member_user_id\n-", *twins]),
        "duplicate_dialogues": "\n".join(["kept_user_id | member_user_id\n-", *map(" | ".join, dialogue_pairs)]),
    }


@pytest.fixture
def placed(given, settle):
    def make(users, memory_pairs=(), dialogue_pairs=(), **knobs):
        db = given(**drawn(users, memory_pairs, dialogue_pairs))
        return settle(db, splits, **(KNOBS | knobs))

    return make


def of_user(settled, name="split"):
    return {row["user_id"]: row[name] for row in settled.rows}


def test_users_joined_by_near_duplicates_are_one_group_in_one_split(placed):
    users = {f"u{n}": (3, 3) for n in range(40)}
    memory_pairs = [("u0", "u1"), ("u1", "u2"), ("u20", "u3")]
    dialogue_pairs = [("u2", "u3"), ("u30", "u31")]

    settled = placed(BANK | users, memory_pairs, dialogue_pairs)

    groups = of_user(settled, "group_id")
    assert {user for user, group in groups.items() if group == "g0"} == {"u0", "u1", "u2", "u3", "u20"}
    assert groups["u30"] == groups["u31"] == "g30"
    assert groups["u4"] == "g4"
    assert len({of_user(settled)[user] for user in ("u0", "u1", "u2", "u3", "u20")}) == 1
    assert len({of_user(settled, "role")[user] for user in ("u0", "u1", "u2", "u3", "u20")}) == 1


def test_splits_have_about_their_shares(placed):
    settled = placed(BANK | {f"u{n}": (1, 1) for n in range(1500)})

    drawn = list(of_user(settled).values())
    assert {split: drawn.count(split) / 1500 for split in SHARES} == pytest.approx(SHARES, abs=0.04)


def test_in_test_a_group_serves_one_side_and_elsewhere_both(placed):
    settled = placed(BANK | {f"u{n}": (1, 1) for n in range(300)}, extraction_share=0.25)

    roles = [row["role"] for row in settled.rows if row["split"] == "test"]
    assert set(roles) == {"extraction", "memory"}
    assert roles.count("extraction") / len(roles) == pytest.approx(0.25, abs=0.1)
    assert {row["role"] for row in settled.rows if row["split"] in ("dev", "validation", "examples")} == {"any"}


def test_a_share_of_nothing_is_never_drawn(placed):
    settled = placed(BANK | {f"u{n}": (1, 1) for n in range(100)}, shares={"dev": 0.0, "test": 1.0})

    assert set(of_user(settled).values()) == {"bank", "test"}


def test_all_groups_without_gold_are_the_bank_and_none_other_where_they_suffice(placed):
    settled = placed({"ua": (1, 1), "ub": (2, 0), "uc": (3, 3), "ud": (2, 0)}, bank_memories=1)

    assert {user for user, split in of_user(settled).items() if split == "bank"} == {"ub", "ud"}
    assert {row["role"] for row in settled.rows if row["split"] == "bank"} == {"bank"}


def test_a_group_with_one_gold_memory_is_not_put_in_the_bank_for_its_other_users(placed):
    settled = placed({"ua": (1, 1), "ub": (5, 0), "uc": (2, 0), "ud": (1, 1)}, dialogue_pairs=[("ua", "ub")])

    assert {user for user, split in of_user(settled).items() if split == "bank"} == {"uc"}


def test_where_groups_without_gold_do_not_suffice_others_go_in_until_the_bank_is_full(placed):
    users = {"uz": (1, 0), **{f"u{n}": (2, 2) for n in range(20)}}

    settled = placed(users, bank_memories=6)

    bank = [row["user_id"] for row in settled.rows if row["split"] == "bank"]
    assert "uz" in bank
    assert len(bank) == 1 + 3


@pytest.mark.parametrize(
    ("wanted", "message"), [(9, "needs 9 memories and all users together have 8"), (8, "takes every user")]
)
def test_a_bank_that_cannot_be_filled_is_told_with_what_to_change(placed, wanted, message):
    with pytest.raises(BadInputError, match=f"{message}.*lower retrieval.distractors"):
        placed({"ua": (4, 4), "ub": (4, 4)}, bank_memories=wanted)


def test_near_duplicates_and_memories_about_others_do_not_count(given, settle):
    tables = drawn({"ua": (3, 0), "ub": (1, 1), "uc": (1, 1)}, [("ua", "ub")])
    tables["memories"] += "\nmx | ua | role_play"

    settled = settle(given(**tables), splits, **(KNOBS | {"bank_memories": 0}))

    assert of_user(settled, "memories") == {"ua": 3, "ub": 0, "uc": 1}


def test_a_user_without_memories_is_dropped(placed):
    settled = placed({"ua": (1, 1), "ub": (2, 0), "uc": (0, 0)})

    assert settled.reasons == {"uc": "no_memory"}


def test_a_user_taken_away_changes_nobody_elses_draw(placed):
    users = {f"u{n}": (1, 1) for n in range(60)}
    whole = placed(BANK | users)
    del users["u7"]

    assert [row for row in whole.rows if row["user_id"] != "u7"] == placed(BANK | users).rows
