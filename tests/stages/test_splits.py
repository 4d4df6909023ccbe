import pytest

from stages import splits
from warehouse import BadInputError

SHARES = {"examples": 0.02, "dev": 0.18, "validation": 0.2, "test": 0.6}
ROLES = {"extraction": 0.25, "memory": 0.25, "retrieval": 0.25, "utilization": 0.25}
KNOBS = {"shares": SHARES, "test_roles": ROLES, "bank_memories": 2}
BANK = {"uy": (1, 0), "uz": (1, 0)}


def drawn(users, memory_pairs=(), dialogue_pairs=()):
    """Tables of users with (memories, gold memories) each, and of pairs of users joined by near-duplicates.

    A pair is a kept user and a member, or a member with all that it is like: `(("ua", "ub"), "uc")`.
    """
    memories = [(f"m{user}{n}", user, n < gold) for user, (count, gold) in users.items() for n in range(count)]
    twins = [f"m{other}0 | {liked(ones)}" for ones, other in memory_pairs]
    return {
        "users": "\n".join(["user_id\n-", *users]),
        "memories": "\n".join(["memory_id | user_id | context\n-", *(f"{m} | {u} | self" for m, u, _ in memories)]),
        "gold_memories": "\n".join(["memory_id\n-", *(m for m, _, is_gold in memories if is_gold)]),
        "duplicate_memories": "\n".join(
            [
                "member_id | like_user_ids::varchar[] | member_user_id\n-",
                *(f"{twin} | {other}" for twin, (_, other) in zip(twins, memory_pairs, strict=True)),
            ]
        ),
        "duplicate_dialogues": "\n".join(
            [
                "like_user_ids::varchar[] | member_user_id\n-",
                *(f"{liked(ones)} | {other}" for ones, other in dialogue_pairs),
            ]
        ),
    }


def liked(ones):
    return f"[{ones if isinstance(ones, str) else ', '.join(ones)}]"


@pytest.fixture
def placed(given, settle):
    def make(users, memory_pairs=(), dialogue_pairs=(), **knobs):
        db = given(**drawn(users, memory_pairs, dialogue_pairs))
        return settle(db, splits, **(KNOBS | knobs))

    return make


def of_user(settled, name="split"):
    return {row["user_id"]: row[name] for row in settled.rows}


def of_role(settled, role):
    return {row["user_id"] for row in settled.rows if row["role"] == role}


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


@pytest.mark.parametrize("pairs", ["memory_pairs", "dialogue_pairs"])
def test_a_user_who_is_like_two_kept_ones_binds_all_three(placed, pairs):
    users = {f"u{n}": (3, 3) for n in range(30)}

    settled = placed(BANK | users, **{pairs: [(("u3", "u7"), "u5")]})

    groups = of_user(settled, "group_id")
    assert {user for user, group in groups.items() if group == "g3"} == {"u3", "u5", "u7"}
    assert len({(of_user(settled)[user], of_user(settled, "role")[user]) for user in ("u3", "u5", "u7")}) == 1
    assert len(set(groups.values())) == 30


def test_splits_have_about_their_shares(placed):
    settled = placed(BANK | {f"u{n}": (1, 1) for n in range(1500)})

    drawn = list(of_user(settled).values())
    assert {split: drawn.count(split) / 1500 for split in SHARES} == pytest.approx(SHARES, abs=0.04)


def test_in_test_a_group_has_one_of_the_roles_and_elsewhere_any(placed):
    shares = {"extraction": 0.1, "memory": 0.2, "retrieval": 0.4, "utilization": 0.3}

    settled = placed(BANK | {f"u{n}": (1, 1) for n in range(900)}, test_roles=shares)

    roles = [row["role"] for row in settled.rows if row["split"] == "test"]
    assert set(roles) == set(shares)
    assert {role: roles.count(role) / len(roles) for role in shares} == pytest.approx(shares, abs=0.06)
    assert {row["role"] for row in settled.rows if row["split"] in ("dev", "validation", "examples")} == {"any"}


def test_a_share_of_nothing_is_never_drawn(placed):
    settled = placed(
        BANK | {f"u{n}": (1, 1) for n in range(100)},
        shares={"dev": 0.0, "validation": 0.2, "test": 0.8},
        test_roles=ROLES | {"memory": 0.0, "retrieval": 0.5},
    )

    assert set(of_user(settled).values()) == {"bank", "validation", "test"}
    assert not of_role(settled, "memory")


def test_groups_without_gold_fill_the_bank_first_and_no_more_than_that(placed):
    users = {f"u{n}": (2, 2) for n in range(20)} | {f"un{n}": (2, 0) for n in range(10)}

    settled = placed(users, bank_memories=5)

    bank = of_role(settled, "held_out_bank")
    assert len(bank) == 3
    assert bank <= {f"un{n}" for n in range(10)}
    assert {of_user(settled)[user] for user in bank} == {"bank"}


def test_a_group_with_one_gold_memory_is_not_put_in_the_bank_for_its_other_users(placed):
    users = {f"u{n}": (2, 2) for n in range(20)} | {"ub": (5, 0), "uc": (2, 0)}

    settled = placed(users, dialogue_pairs=[("u1", "ub")])

    assert of_role(settled, "held_out_bank") == {"uc"}


def test_where_groups_without_gold_do_not_suffice_others_go_in_until_the_bank_is_full(placed):
    users = {"uz": (1, 0), **{f"u{n}": (2, 2) for n in range(30)}}

    bank = of_role(placed(users, bank_memories=6), "held_out_bank")

    assert "uz" in bank
    assert len(bank) == 1 + 3


def test_a_group_without_distractors_is_never_put_in_a_bank(given, settle):
    users = {f"u{n}": (2, 2) for n in range(20)}
    tables = drawn(users | {f"un{n}": (0, 0) for n in range(40)})
    tables["memories"] += "".join(f"\nmx{n} | un{n} | role_play" for n in range(40))

    settled = settle(given(**tables), splits, **(KNOBS | {"bank_memories": 12}))

    assert len(of_role(settled, "held_out_bank")) == 6
    assert {user for user, split in of_user(settled).items() if split == "bank"} <= set(users)
    assert {user for user in of_user(settled) if user.startswith("un")} == {f"un{n}" for n in range(40)}


def test_public_splits_with_distractors_enough_get_no_bank_of_their_own(placed):
    settled = placed(BANK | {f"u{n}": (2, 2) for n in range(100)}, bank_memories=20)

    assert not of_role(settled, "public_bank")


@pytest.mark.parametrize("wanted", [8, 9])
def test_a_public_bank_is_filled_from_test_groups_as_far_as_is_needed(placed, wanted):
    users = {f"u{n}": (2, 2) for n in range(60)} | {f"un{n}": (1, 0) for n in range(40)}

    settled = placed(users, bank_memories=wanted, shares={"dev": 0.0, "test": 1.0})

    bank = [row for row in settled.rows if row["role"] == "public_bank"]
    held = sum(row["memories"] for row in bank)
    assert held - max(row["memories"] for row in bank) < wanted <= held
    assert len(bank) == wanted, "those without gold go first"
    assert {row["split"] for row in bank} == {"bank"}
    assert {row["user_id"] for row in bank}.isdisjoint(of_role(settled, "held_out_bank"))
    assert {row["split"] for row in settled.rows} == {"bank", "test"}


def test_a_public_bank_makes_up_for_what_public_splits_lack_and_takes_nobody_from_them(placed):
    users = {f"u{n}": (1, 1) for n in range(200)} | {f"un{n}": (1, 0) for n in range(60)}
    shares = {"dev": 0.1, "test": 0.9}
    roomy, wanting = (placed(users, bank_memories=wanted, shares=shares) for wanted in (10, 60))
    public = {user for user, split in of_user(wanting).items() if split == "dev"}

    assert not of_role(roomy, "public_bank")
    assert len(of_role(wanting, "public_bank")) == 60 - len(public) > 0
    assert public == {user for user, split in of_user(roomy).items() if split == "dev"} - of_role(
        wanting, "held_out_bank"
    )
    assert {of_user(roomy)[user] for user in of_role(wanting, "public_bank")} == {"test"}


@pytest.mark.parametrize(
    ("users", "wanted", "message"),
    [
        ({"ua": (4, 4), "ub": (4, 4)}, 9, "needs 9 memories and all users that it could have together have 8: "),
        ({"ua": (4, 4), "ub": (4, 4)}, 8, "needs 8 memories and all users that it could have together have 0: "),
        ({"ua": (4, 4), "ub": (4, 4)}, 4, "two banks of 4 distractors leave nobody for the test split: "),
        ({"ua": (4, 4), "ub": (0, 0)}, 0, None),
        ({"ua": (4, 0), "ub": (4, 0), "uc": (4, 0)}, 4, "leave nobody for the test split: "),
    ],
)
def test_where_memories_do_not_suffice_it_is_told_with_what_to_change(placed, users, wanted, message):
    knobs = {"bank_memories": wanted, "shares": {"test": 1.0}}
    if message is None:
        assert of_user(placed(users, **knobs)) == {"ua": "test"}
        return
    with pytest.raises(BadInputError, match=f"{message}.*lower retrieval.distractors|{message}lower"):
        placed(users, **knobs)


def test_where_all_are_drawn_into_public_splits_it_is_told(placed):
    with pytest.raises(BadInputError, match="nobody for the test split"):
        placed(BANK | {f"u{n}": (4, 4) for n in range(9)}, shares={"dev": 1.0, "test": 0.0})


def test_near_duplicates_and_memories_about_others_do_not_count(given, settle):
    tables = drawn({"ua": (3, 0), "ub": (1, 1), "uc": (1, 1)}, [("ua", "ub")])
    tables["memories"] += "\nmx | ua | role_play"

    settled = settle(given(**tables), splits, **(KNOBS | {"bank_memories": 0, "shares": {"test": 1.0}}))

    assert of_user(settled, "memories") == {"ua": 3, "ub": 0, "uc": 1}


def test_a_user_without_memories_is_dropped(placed):
    settled = placed(BANK | {f"u{n}": (2, 2) for n in range(20)} | {"uc": (0, 0)})

    assert settled.reasons == {"uc": "no_memory"}


def test_a_user_taken_away_changes_nobody_elses_draw(placed):
    users = {f"u{n}": (1, 1) for n in range(60)}
    whole = placed(BANK | users)
    del users["u7"]

    assert [row for row in whole.rows if row["user_id"] != "u7"] == placed(BANK | users).rows
