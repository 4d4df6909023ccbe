import hashlib
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as some

from stages import sample_memories
from stages.sample_memories import limits_of
from stages.taxonomy import LABELS, UNMAPPED
from warehouse import connect

NONE = "member_id | kept_id\n-"
KNOBS = {
    **{"dialogues_per_user": 1, "label_cap": 1000, "label_caps": {}, "label_floor": 0, "label_floors": {}},
    "limit": 2500,
}


def memory_table(rows):
    head = "memory_id | dialogue_id | user_id | label | type | context | confidence::double | evidence_way\n-\n"
    return head + "\n".join(row if row.count("|") == 7 else f"{row} | exact" for row in rows)


def by_hash(dialogue_ids, salt="sample|"):
    return sorted(dialogue_ids, key=lambda one: hashlib.sha256(f"{salt}{one}".encode()).hexdigest())


def details(settled):
    return {one["memory_id"]: one["drop_detail"] for one in settled.drops}


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
    assert details(settled) == {"m1": "d2", "m2": "d2", "m4": "d4"}
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
    assert Counter(details(settled).values()) == {"4": 2, "5": 2}
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
    assert settled.reasons == dict.fromkeys(("m1", "m3", "m5"), "label_cap")
    assert details(settled) == dict.fromkeys(("m1", "m3", "m5"), "Possessions/Pet")


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
    assert details(settled)["m3"] == "m1"


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
    assert details(settled) == {"m1": "assistant", "m2": "not_found"}


def test_a_near_duplicate_goes_even_where_the_memory_that_it_is_like_is_not_chosen(chosen):
    settled = chosen(
        "m1 | d1 | ua | Possessions/Pet | direct   | self | 0.95",
        "m2 | d2 | ua | Plans/Schedule  | indirect | self | 0.65",
        "m3 | d3 | ub | Possessions/Pet | direct   | self | 0.95",
        "m4 | d3 | ub | Plans/Schedule  | direct   | self | 0.95",
        duplicates="member_id | kept_id\n-\nm3 | m1",
    )

    assert settled.reasons == {"m1": "other_dialogue_of_user", "m3": "near_duplicate_memory"}
    assert set(settled.column("memory_id")) == {"m2", "m4"}


def test_a_label_with_a_cap_of_its_own_has_that_one_and_with_0_makes_no_dialogue_rich(chosen):
    rows = (
        "m1 | d1 | ua | UNMAPPED        | indirect | self | 0.65",
        "m2 | d2 | ua | Possessions/Pet | direct   | self | 0.95",
        *(f"m{n} | d{n} | u{n} | Possessions/Car | direct | self | 0.95" for n in range(3, 8)),
    )

    settled = chosen(*rows, label_cap=3, label_caps={"UNMAPPED": 0, "Possessions/Car": 2})

    assert Counter(settled.column("label")) == {"Possessions/Pet": 1, "Possessions/Car": 2}
    assert Counter(settled.reasons.values()) == {"label_cap": 4}
    assert details(settled)["m1"] == "UNMAPPED"


def rare_and_common():
    """Twelve samples with an implicit memory of a common label, and four with a direct one of a rare label."""
    common = [f"m{n} | d{n} | u{n} | Thoughts/Curiosity | indirect | self | 0.65" for n in range(12)]
    return [*common, *(f"m{n} | d{n} | u{n} | Possessions/Pet | direct | self | 0.95" for n in range(12, 16))]


def test_without_a_floor_a_rare_label_waits_for_all_samples_with_an_implicit_memory(chosen):
    settled = chosen(*rare_and_common(), limit=10)

    assert set(settled.column("label")) == {"Thoughts/Curiosity"}
    assert set(settled.column("drawn_for")) == {"implicit"}


def test_a_floor_draws_the_first_of_its_label_before_all_others_fill_the_limit(chosen):
    settled = chosen(*rare_and_common(), limit=10, label_floors={"Possessions/Pet": 3})

    common, rare = by_hash(f"d{n}" for n in range(12)), by_hash(f"d{n}" for n in range(12, 16))
    assert settled.column("dialogue_id") == [*rare[:3], *common[:7]]
    assert settled.column("drawn_for") == ["floor"] * 3 + ["implicit"] * 7
    assert settled.column("sample_rank") == list(range(1, 11))


def test_among_samples_for_floors_those_with_an_implicit_memory_come_first(chosen):
    settled = chosen(*rare_and_common(), limit=10, label_floor=2)

    common, rare = by_hash(f"d{n}" for n in range(12)), by_hash(f"d{n}" for n in range(12, 16))
    assert settled.column("dialogue_id") == [*common[:2], *rare[:2], *common[2:8]]
    assert settled.column("drawn_for") == ["floor"] * 4 + ["implicit"] * 6


def test_a_cap_counts_in_the_order_of_drawing_so_what_is_drawn_for_a_floor_comes_first(chosen):
    settled = chosen(
        "m1 | d1 | ua | Thoughts/Curiosity | indirect | self | 0.65",
        "m2 | d2 | ub | Thoughts/Curiosity | direct   | self | 0.95",
        "m3 | d2 | ub | Possessions/Pet    | direct   | self | 0.95",
        label_caps={"Thoughts/Curiosity": 1},
        label_floors={"Possessions/Pet": 1},
    )

    assert settled.column("memory_id") == ["m2", "m3"]
    assert settled.reasons == {"m1": "label_cap"}


def test_where_offered_dialogues_have_too_few_of_a_label_a_user_gives_another_one(chosen):
    rows = (
        "m1 | d1 | ua | Thoughts/Curiosity | indirect | self | 0.65",
        "m2 | d2 | ua | Possessions/Pet    | direct   | self | 0.95",
        "m3 | d3 | ub | Thoughts/Curiosity | indirect | self | 0.65",
        "m4 | d4 | ub | Possessions/Pet    | direct   | self | 0.95",
    )
    first, second = by_hash(("d2", "d4"))

    settled = chosen(*rows, label_floors={"Possessions/Pet": 1})

    other = {"d2": "m1", "d4": "m3"}
    assert settled.column("dialogue_id") == [first, {"d2": "d1", "d4": "d3"}[second]]
    assert settled.column("drawn_for") == ["floor", "implicit"]
    assert details(settled)[other[first]] == first
    assert set(chosen(*rows).column("label")) == {"Thoughts/Curiosity"}


def test_of_a_user_with_two_dialogues_for_floors_the_richer_is_given(chosen):
    settled = chosen(
        "m1 | d1 | ua | Possessions/Pet | indirect | self | 0.65",
        "m2 | d2 | ua | Possessions/Car | direct   | self | 0.95",
        "m3 | d3 | ub | Possessions/Car | direct   | self | 0.95",
        label_floor=2,
    )

    assert set(settled.column("memory_id")) == {"m1", "m3"}
    assert settled.reasons == {"m2": "other_dialogue_of_user"}


def test_a_floor_for_every_label_is_none_for_what_has_no_label(chosen):
    rows = [f"m{n} | d{n} | u{n} | UNMAPPED | direct | self | 0.8" for n in range(4)]

    assert set(chosen(*rows, label_floor=1).column("drawn_for")) == {"any"}
    assert Counter(chosen(*rows, label_floors={"UNMAPPED": 1}).column("drawn_for")) == {"floor": 1, "any": 3}


def test_a_label_without_limits_of_its_own_has_those_of_all():
    limits = limits_of(100, {"Possessions/Pet": 7}, 3, {"Plans/Schedule": 0})

    assert list(limits) == [*LABELS, UNMAPPED]
    assert limits["Possessions/Pet"] == (7, 3)
    assert limits["Plans/Schedule"] == (100, 0)
    assert limits["UNMAPPED"] == (100, 0)
    assert {one for label, one in limits.items() if label not in ("Possessions/Pet", "Plans/Schedule", "UNMAPPED")} == {
        (100, 3)
    }


# Whatever the memories and the limits are

FEW = ("Possessions/Pet", "Possessions/Car", "Plans/Schedule", "UNMAPPED")
TEXTS = ("memory_id", "dialogue_id", "user_id", "label", "type", "context", "evidence_way")
MEMORIES = pa.schema([*((name, pa.string()) for name in TEXTS), ("confidence", pa.float64())])
PAIRS = pa.schema([("member_id", pa.string()), ("kept_id", pa.string())])
drawn_memories = some.lists(
    some.tuples(
        some.integers(0, 9),  # the user
        some.integers(0, 2),  # the dialogue of the user
        some.sampled_from(FEW),
        some.sampled_from(("direct", "indirect")),
        some.sampled_from((0.5, 0.65, 0.8, 0.95)),
        some.sampled_from(("", "", "", "context", "words", "twin")),
    ),
    max_size=60,
)


@some.composite
def drawn_knobs(draw):
    """Limits as a recipe allows them: no cap below its floor, floors that the limit has room for."""
    floors = {label: draw(some.integers(0, 4)) for label in FEW}
    caps = {label: draw(some.integers(floor, 8)) for label, floor in floors.items()}
    limit = max(1, sum(floors.values())) + draw(some.integers(0, 8))
    return KNOBS | {
        **{"dialogues_per_user": draw(some.integers(1, 2)), "limit": limit},
        **{"label_caps": caps, "label_floors": floors},
    }


def memories_of(drawn):
    return [
        {
            **{"memory_id": f"m{place}", "dialogue_id": f"d{user}-{number}", "user_id": f"u{user}", "label": label},
            **{"type": type, "context": "role_play" if flaw == "context" else "self", "confidence": confidence},
            **{"evidence_way": "assistant" if flaw == "words" else "exact", "is_twin": flaw == "twin"},
        }
        for place, (user, number, label, type, confidence, flaw) in enumerate(drawn)
    ]


def select(memories, knobs):
    """Give (rank, drawn for, drop reason, drop detail) of each memory."""
    twins = [{"member_id": one["memory_id"], "kept_id": "m-other"} for one in memories if one["is_twin"]]
    with connect() as db:
        db.from_arrow(pa.Table.from_pylist(memories, schema=MEMORIES)).create("memories")
        db.from_arrow(pa.Table.from_pylist(twins, schema=PAIRS)).create("duplicate_memories")
        made = "memory_id, sample_rank, drawn_for, drop_reason, drop_detail"
        rows = sample_memories(db, **knobs).select(made).fetchall()
    assert len(rows) == len({row[0] for row in rows}) == len(memories)
    return {memory_id: tuple(fate) for memory_id, *fate in rows}


def dialogues_of(memories, knobs):
    """The eligible memories of each dialogue, in the general order, the surest first."""
    found = defaultdict(list)
    for one in sorted(memories, key=by_confidence):
        is_flawed = one["is_twin"] or one["context"] != "self" or one["evidence_way"] == "assistant"
        if not is_flawed and knobs["label_caps"][one["label"]]:
            found[one["dialogue_id"]].append(one)
    first = [one for one in found if implicit_of(found[one])]
    return {one: found[one] for one in [*by_hash(first), *by_hash(found.keys() - first)]}


def implicit_of(memories):
    return sum(one["type"] == "indirect" for one in memories)


def offers_of(dialogues, first):
    """The dialogues of each user, those of `first` before all others, then by richness."""
    offers = defaultdict(list)
    for one, found in dialogues.items():
        offers[found[0]["user_id"]].append(one)
    return [
        sorted(
            by_hash(offer, ""), key=lambda one: (one not in first, -implicit_of(dialogues[one]), -len(dialogues[one]))
        )
        for offer in offers.values()
    ]


def by_confidence(memory):
    return -memory["confidence"], memory["memory_id"]


def walked(memories, knobs):
    """What the docstring says, one dialogue after the other."""
    dialogues, allowed = dialogues_of(memories, knobs), knobs["dialogues_per_user"]
    offered = {one for offer in offers_of(dialogues, ()) for one in offer[:allowed]}
    for_floor = set()
    for label, floor in knobs["label_floors"].items():
        number = {one: sum(memory["label"] == label for memory in dialogues[one]) for one in dialogues}
        late = {one for offer in offers_of(dialogues, ()) for one in [it for it in offer if number[it]][allowed:]}
        reserved = 0
        for dialogue_id in sorted(dialogues, key=lambda one: (one in late, one not in offered)):
            if number[dialogue_id] and reserved < floor:
                for_floor.add(dialogue_id)
            reserved += number[dialogue_id]
    given = {one for offer in offers_of(dialogues, for_floor) for one in offer[:allowed]}
    taken, fates, rank = Counter(), {}, 0
    for dialogue_id in sorted(given, key=lambda one: (one not in for_floor, list(dialogues).index(one))):
        kept = []
        for one in dialogues[dialogue_id]:
            if taken[one["label"]] < knobs["label_caps"][one["label"]]:
                taken[one["label"]] += 1
                kept.append(one["memory_id"])
        rank += bool(kept)
        why = "floor" if dialogue_id in for_floor else "implicit" if implicit_of(dialogues[dialogue_id]) else "any"
        if rank <= knobs["limit"]:
            fates |= dict.fromkeys(kept, (rank, why))
    return fates


@settings(max_examples=40, deadline=None)
@for_all(drawn=drawn_memories, knobs=drawn_knobs())
def test_the_selection_is_that_of_a_walk_from_dialogue_to_dialogue(drawn, knobs):
    memories = memories_of(drawn)

    made = select(memories, knobs)

    assert {one: fate[:2] for one, fate in made.items() if fate[2] is None} == walked(memories, knobs)


@settings(max_examples=40, deadline=None)
@for_all(drawn=drawn_memories, knobs=drawn_knobs())
def test_no_cap_and_no_limit_is_passed_and_each_floor_is_met_as_far_as_memories_go(drawn, knobs):
    memories = memories_of(drawn)
    label_of = {one["memory_id"]: one["label"] for one in memories}
    dialogues = dialogues_of(memories, knobs)
    offered = [one for offer in offers_of(dialogues, ()) for one in offer[: knobs["dialogues_per_user"]]]
    there = Counter(one["label"] for dialogue_id in offered for one in dialogues[dialogue_id])

    fates = {one: fate for one, fate in select(memories, knobs).items() if fate[2] is None}

    chosen = Counter(label_of[one] for one in fates)
    assert [label for label in FEW if chosen[label] > knobs["label_caps"][label]] == []
    assert [label for label in FEW if chosen[label] < min(there[label], knobs["label_floors"][label])] == []
    ranks = {rank for rank, *_ in fates.values()}
    assert ranks == set(range(1, len(ranks) + 1))
    assert len(ranks) <= knobs["limit"]
    phases = [phase for _, phase in sorted({(fate[0], fate[1]) for fate in fates.values()})]
    assert phases == sorted(phases, key=["floor", "implicit", "any"].index)


def test_a_floor_takes_of_each_user_what_that_user_can_give_before_it_takes_more_of_one(chosen):
    rows = [f"m{n} | d{n} | ua | Possessions/Pet | indirect | self | 0.95" for n in range(5)]
    rows += ["m5 | d5 | ub | Possessions/Pet | direct | self | 0.65"]
    rows += ["m6 | d6 | ub | Plans/Schedule | indirect | self | 0.95"]

    settled = chosen(*rows, label_floors={"Possessions/Pet": 2})

    assert settled.column("label").count("Possessions/Pet") == 2
    assert "m5" in settled.column("memory_id")


@settings(max_examples=25, deadline=None)
@for_all(drawn=drawn_memories, knobs=drawn_knobs(), random=some.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(drawn, knobs, random):
    memories = memories_of(drawn)
    shuffled = random.sample(memories, len(memories))

    assert select(shuffled, knobs) == select(memories, knobs)


def drawn_with_and_without(memories, knobs, user):
    """What each selected dialogue was drawn for, without caps: with a user, and with him taken away."""
    free = knobs | {"label_caps": dict.fromkeys(FEW, 1000)}
    dialogue_of = {one["memory_id"]: one["dialogue_id"] for one in memories}
    left = [one for one in memories if one["user_id"] != user]
    return [
        {dialogue_of[one]: fate[1] for one, fate in select(some_of_them, free).items() if fate[2] is None}
        for some_of_them in (memories, left)
    ]


@settings(max_examples=25, deadline=None)
@for_all(drawn=drawn_memories, knobs=drawn_knobs(), number=some.integers(0, 9))
def test_a_user_taken_away_brings_in_no_more_than_two_samples_for_each_of_his_memories(drawn, knobs, number):
    memories, user = memories_of(drawn), f"u{number}"

    before, after = drawn_with_and_without(memories, knobs, user)

    assert len(after.keys() - before.keys()) <= 2 * sum(one["user_id"] == user for one in memories)


@settings(max_examples=25, deadline=None)
@for_all(drawn=drawn_memories, knobs=drawn_knobs(), number=some.integers(0, 9))
def test_where_users_give_all_their_dialogues_one_who_goes_leaves_those_drawn_for_floors(drawn, knobs, number):
    memories, user = memories_of(drawn), f"u{number}"

    before, after = drawn_with_and_without(memories, knobs | {"dialogues_per_user": 3}, user)

    assert len(after.keys() - before.keys()) <= sum(one["user_id"] == user for one in memories)
    others = [one for one, why in before.items() if why == "floor" and not one.startswith(f"d{number}-")]
    assert {one: after.get(one) for one in others} == dict.fromkeys(others, "floor")
