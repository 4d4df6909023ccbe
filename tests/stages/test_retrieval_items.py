import hashlib
import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from evaluation.recurrence import rules_of
from evaluation.shortcuts import upper_bound
from stages import retrieval_items
from stages.near_duplicates import jaccard, shingles_of
from stages.retrieval_items import Candidate, distractors_of, may_distract

SIZES = (5, 10, 20)
KNOBS = {"distractors": SIZES, "shingle_characters": 4, "threshold": 0.8}
LABELS = ("Preferences/Food", "Possessions/Pet", "Plans/Schedule", "Possessions/Car")
DRAFTS = "target_id | attempt::integer | query | leaks::boolean | shared_words::varchar[]\n-\n"
MEMORIES = "memory_id | user_id | label | value | context\n-\n"
SPLITS = "user_id | group_id | split | role\n-\n"
TARGETS = "target_id | kind | user_id | split | memory_id | label\n-\n"


def first_16(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def value(*parts):
    """A value that is nearly the same as no other."""
    return "Likes " + hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


@pytest.fixture
def pooled(given, settle):
    """Give the items of `count` held-out targets, with distractors out of a bank of `banked` memories."""

    def make(count=6, banked=40, drafts=None, without=(), more_memories=(), more_users=(), duplicates=(), **knobs):
        numbers = [n for n in range(count) if f"t{n}" not in without]
        bank = [
            f"b{n} | ub{n % 7} | {LABELS[n % 3]} | {value('bank', n)} | self"
            for n in range(banked)
            if f"b{n}" not in without
        ]
        own = [f"m{n} | u{n} | {LABELS[n % 4]} | {value('own', n)} | self" for n in range(count)]
        users = [f"u{n} | g{n} | test | retrieval" for n in range(count)]
        users += [f"ub{n} | gb{n} | bank | held_out_bank" for n in range(7)]
        texts = [f"t{n} | 0 | query {n} | false | []" for n in numbers] if drafts is None else drafts
        rows = [f"t{n} | retrieval | u{n} | test | m{n} | {LABELS[n % 4]}" for n in numbers]
        other = ["tx | update | u0 | test | m0 | Plans/Schedule"]
        db = given(
            targets=TARGETS + "\n".join(rows + other),
            memories=MEMORIES + "\n".join([*bank, *own, *more_memories]),
            splits=SPLITS + "\n".join([*users, *more_users]),
            query_drafts=DRAFTS + "\n".join(texts),
            duplicate_memories="member_id\n-\n" + "\n".join(duplicates),
        )
        return settle(db, retrieval_items, **KNOBS | knobs)

    return make


def pools(settled):
    return {row["target_id"]: row["distractor_ids"] for row in settled.rows}


def test_an_item_has_a_query_and_as_many_distractors_as_the_largest_pool(pooled):
    rows = pooled().rows

    assert [row["item_id"] for row in rows] == sorted("i" + first_16(f"task3|t{n}") for n in range(6))
    assert {row["target_id"]: (row["user_id"], row["split"], row["memory_id"], row["query"]) for row in rows} == {
        f"t{n}": (f"u{n}", "test", f"m{n}", f"query {n}") for n in range(6)
    }
    for row in rows:
        assert len(set(row["distractor_ids"])) == 20
        others = {f"m{n}" for n in range(6)} - {row["memory_id"]}
        assert set(row["distractor_ids"]) <= {f"b{n}" for n in range(40)} | others


def test_a_place_is_drawn_in_each_pool(pooled):
    for row in pooled().rows:
        assert all(0 <= place <= size for place, size in zip(row["places"], SIZES, strict=True))


def test_the_smallest_pool_holds_a_distractor_of_the_targets_label_where_there_is_one(pooled):
    settled = pooled(count=4)

    labels = {f"b{n}": LABELS[n % 3] for n in range(40)} | {f"m{n}": LABELS[n] for n in range(4)}
    for target, pool in pools(settled).items():
        # The only memory of the label Possessions/Car is the target itself.
        label = LABELS[int(target[1:])]
        assert (label in {labels[one] for one in pool[:5]}) is (label != "Possessions/Car")


@pytest.mark.parametrize("split", ["test", "dev"])
def test_only_memories_of_the_targets_side_that_are_about_users_and_no_near_duplicates_are_distractors(
    given, settle, split
):
    sides = {
        "test": ["test | retrieval", "bank | held_out_bank"],
        "dev": ["dev | any", "validation | any", "examples | any", "bank | public_bank"],
        "neither": ["test | memory", "test | extraction", "test | utilization"],
    }
    placed = [place for side in sides.values() for place in side]
    users = [f"u{n} | g{n} | {place}" for n, place in enumerate(placed)]
    memories = [f"m{n}-{one} | u{n} | A/B | {value(n, one)} | self" for n in range(len(placed)) for one in range(20)]
    memories += [f"x{n} | u{n} | A/B | {value('x', n)} | role_play" for n in range(len(placed))]
    own = placed.index(sides[split][0])
    db = given(
        targets=TARGETS + f"t1 | retrieval | u{own} | {split} | m{own}-0 | A/B",
        memories=MEMORIES + "\n".join(memories),
        splits=SPLITS + "\n".join(users),
        query_drafts=DRAFTS + "t1 | 0 | query | false | []",
        duplicate_memories="member_id\n-\n" + "\n".join(f"m{n}-3" for n in range(len(placed))),
    )
    wanted = {
        f"m{n}-{one}"
        for n, place in enumerate(placed)
        for one in range(20)
        if place in sides[split] and n != own and one != 3
    }

    [row] = settle(db, retrieval_items, **KNOBS | {"distractors": (5, len(wanted))}).rows

    assert set(row["distractor_ids"]) == wanted


def test_memories_of_the_targets_own_group_are_in_none_of_its_pools(pooled):
    more = [f"o{n} | u{one} | Plans/Schedule | {value('more', one, n)} | self" for n, one in enumerate([0, 1, 2] * 5)]
    relative = [f"r{n} | ur | Plans/Schedule | {value('relative', n)} | self" for n in range(6)]

    settled = pooled(
        count=3,
        banked=10,
        more_memories=[*more, *relative],
        more_users=["ur | g0 | test | retrieval"],
        distractors=(5, 22),
    )

    whole = {f"b{n}" for n in range(10)} | {f"m{n}" for n in range(3)}
    whole |= {f"o{n}" for n in range(15)} | {f"r{n}" for n in range(6)}
    found = pools(settled)
    assert set(found["t0"]) == whole - {"m0"} - {f"o{n}" for n in range(0, 15, 3)} - {f"r{n}" for n in range(6)}
    for n in (1, 2):
        assert set(found[f"t{n}"]).isdisjoint({f"m{n}", *(f"o{one}" for one in range(n, 15, 3))})


def test_what_is_nearly_the_same_as_the_target_is_in_none_of_its_pools_and_in_those_of_others(pooled):
    twin, cousin = value("own", 0) + "!", value("own", 0) + " now and then"
    near, far = (jaccard(shingles_of(value("own", 0), 4), shingles_of(one, 4)) for one in (twin, cousin))
    assert far < 0.8 <= near
    more = [f"x1 | ub0 | Plans/Schedule | {twin} | self", f"x2 | ub0 | Plans/Schedule | {cousin} | self"]

    found = pools(pooled(count=2, banked=19, more_memories=more, distractors=(5, 21)))

    assert set(found["t0"]) == {*(f"b{n}" for n in range(19)), "x2", "m1"}
    assert set(pools(pooled(count=2, banked=19, more_memories=more, distractors=(5, 22), threshold=1.1))["t0"]) == {
        *found["t0"],
        "x1",
    }
    assert {"x1", "x2", "m0"} & set(found["t1"])


def test_at_the_threshold_itself_a_memory_is_nearly_the_same(pooled):
    threshold = jaccard(shingles_of(value("own", 0), 4), shingles_of(value("own", 0) + " too", 4))
    more = [f"x1 | ub0 | Plans/Schedule | {value('own', 0)} too | self"]

    assert pooled(count=1, banked=20, more_memories=more, threshold=threshold).column("distractor_ids") != []
    assert "x1" not in pools(pooled(count=1, banked=20, more_memories=more, threshold=threshold))["t0"]
    assert (
        "x1"
        in pools(pooled(count=1, banked=20, more_memories=more, threshold=threshold + 0.001, distractors=(5, 21)))["t0"]
    )


@pytest.mark.parametrize(("banked", "kept"), [(17, 0), (18, 3), (19, 3)])
def test_an_item_with_too_few_distractors_is_dropped(pooled, banked, kept):
    settled = pooled(count=3, banked=banked)

    assert len(settled.rows) == kept
    if not kept:
        assert settled.reasons == {f"t{n}": "too_few_distractors" for n in range(3)}
        assert {drop["drop_detail"] for drop in settled.drops} == {"19"}


def test_an_item_without_a_query_is_dropped_for_that_and_not_for_its_distractors(pooled):
    assert pooled(count=1, banked=3, drafts=[]).reasons == {"t0": "no_query"}


def test_one_item_with_too_few_distractors_takes_no_other_with_it(pooled):
    relative = [f"r{n} | ur | Plans/Schedule | {value('relative', n)} | self" for n in range(10)]

    settled = pooled(
        count=3, banked=10, more_memories=relative, more_users=["ur | g0 | test | retrieval"], distractors=(5, 20)
    )

    assert settled.reasons == {"t0": "too_few_distractors"}
    assert {row["target_id"] for row in settled.rows} == {"t1", "t2"}


def test_a_memory_of_the_bank_taken_away_changes_no_other_draw(pooled):
    whole, less = pools(pooled(count=9)), pools(pooled(count=9, without=("b17",)))

    for target, pool in whole.items():
        # The one taken away makes room for one at the end; it may leave its place to another of its label.
        stayed = [one for one in pool if one != "b17"]
        assert set(stayed) <= set(less[target])
        assert "b17" in pool or pool == less[target]


def test_a_target_taken_away_changes_no_other_item(pooled):
    whole, less = pooled(count=12).rows, pooled(count=12, without=("t4",)).rows

    assert [row for row in whole if row["target_id"] != "t4"] == less


@pytest.mark.parametrize(("side", "expected"), [("test", [False, True]), ("dev", [True, False])])
def test_a_side_takes_its_own_distractors_of_other_groups(side, expected):
    target = {"split": side, "group_id": "g1"}
    others = [Candidate("m1", "g2", "A", "value", is_held_out) for is_held_out in (False, True)]
    own = [Candidate("m1", "g1", "A", "value", is_held_out) for is_held_out in (False, True)]

    assert [may_distract(target, one) for one in others] == expected
    assert [may_distract(target, one) for one in own] == [False, False]


@pytest.mark.parametrize(
    ("drafts", "query", "reason"),
    [
        (["t0 | 0 | leaky | true | [cat, dog]", "t0 | 1 | good | false | []"], "good", None),
        (["t0 | 0 | leaky | true | [cat, dog]", "t0 | 1 | leaky too | true | [dog]"], None, "every_query_leaks"),
        ([], None, "no_query"),
    ],
)
def test_the_last_draft_is_the_query_unless_it_leaks(pooled, drafts, query, reason):
    settled = pooled(count=1, drafts=drafts)

    assert settled.column("query") == ([query] if query else [])
    assert settled.reasons == ({"t0": reason} if reason else {})
    if reason == "every_query_leaks":
        assert settled.drops[0]["drop_detail"] == "dog"


@hypothesis_given(
    st.lists(st.sampled_from("ABC"), max_size=30),
    st.lists(st.integers(1, 12), min_size=2, max_size=4, unique=True).map(sorted),
    st.integers(0, 3),
)
def test_pools_are_nested_and_of_the_bank_alone(labels, sizes, attempt):
    bank = [Candidate(f"b{n}", "g2", label, "value", True) for n, label in enumerate(labels)]
    target = {"target_id": "t1", "label": "A"}

    drawn = [distractors_of(target, bank, sizes[: length + 1], attempt) for length in range(len(sizes))]

    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(drawn))
    assert len(drawn[-1]) == len(set(drawn[-1])) == min(sizes[-1], len(bank))
    assert ("A" in {labels[int(one[1:])] for one in drawn[0]}) is ("A" in labels)


def test_a_bank_memory_of_a_public_pool_is_in_no_held_out_one_and_the_other_way_round(given, settle):
    for seed in range(5):
        world = World(random.Random(seed), f"w{seed}-")
        pools = world.pools(given, settle)
        held_out = {one for row in pools for one in row["distractor_ids"] if row["split"] == "test"}
        public = {one for row in pools for one in row["distractor_ids"] if row["split"] != "test"}
        assert held_out
        assert public
        assert held_out.isdisjoint(public | {row["memory_id"] for row in pools if row["split"] != "test"})
        assert public.isdisjoint(row["memory_id"] for row in pools if row["split"] == "test")


class World:
    """Some users of each split and role with a few memories each, and a target of each that task 3 may ask about."""

    def __init__(self, draw, name):
        places = ["bank | held_out_bank"] * draw.randint(4, 12) + ["test | retrieval"] * draw.randint(3, 40)
        places += ["dev | any"] * draw.randint(8, 20) + ["bank | public_bank"] * draw.randint(0, 6)
        self.places = places
        self.name = name
        # The user before may be bound to this one.
        self.groups = [n - 1 if n and places[n - 1] == place and draw.random() < 0.1 else n
                       for n, place in enumerate(places)]  # fmt: skip
        self.counts = [draw.randint(1, 6) for _ in places]
        self.labels = [[draw.choice(LABELS[: draw.randint(1, 4)]) for _ in range(count)] for count in self.counts]
        self.largest = draw.choice((5, 10, 15))

    def pools(self, given, settle):
        users, memories, targets, drafts = [], [], [], []
        for n, place in enumerate(self.places):
            users.append(f"{self.name}u{n} | {self.name}g{self.groups[n]} | {place}")
            for one, label in enumerate(self.labels[n]):
                text = value(self.name, n, one)[: 14 + (n + one) % 9]
                memories.append(f"{self.name}m{n}-{one} | {self.name}u{n} | {label} | {text} | self")
            split = place.split(" | ")[0]
            if split != "bank":
                targets.append(
                    f"{self.name}t{n} | retrieval | {self.name}u{n} | {split} | {self.name}m{n}-0 | {self.labels[n][0]}"
                )
                drafts.append(f"{self.name}t{n} | 0 | query | false | []")
        db = given(
            targets=TARGETS + "\n".join(targets),
            memories=MEMORIES + "\n".join(memories),
            splits=SPLITS + "\n".join(users),
            query_drafts=DRAFTS + "\n".join(drafts),
            duplicate_memories="member_id\n-",
        )
        return settle(db, retrieval_items, **KNOBS | {"distractors": (2, self.largest)}).rows


def hits_of(rule, held_out):
    """How often a rule finds the target, one of n that it likes best as the nth part."""
    found = 0.0
    for target, pool in held_out:
        liked = rule([{"value": one} for one in (target, *pool)])
        found += (0 in liked) / len(liked)
    return found


def test_in_how_many_held_out_pools_a_memory_stands_does_not_tell_the_target(given, settle):
    beyond, asked, total, expected = [], 0, 0.0, 0.0
    for seed in range(100, 160):
        world = World(random.Random(1000 + seed), f"w{seed}-")
        rows = [row for row in world.pools(given, settle) if row["split"] == "test"]
        for size in (2, world.largest):
            held_out = [(row["memory_id"], row["distractor_ids"][:size]) for row in rows]
            times = Counter(one for target, pool in held_out for one in (target, *pool))
            rules = rules_of(times, pools=(), shown=())
            for name in ("value_in_fewest_pools", "value_in_most_pools"):
                hits = hits_of(rules[name], held_out)
                asked += 1
                total += hits
                expected += len(held_out) / (size + 1)
                if hits > upper_bound([1 / (size + 1)] * len(held_out)) + 1e-9:
                    beyond.append((seed, size, name, hits))

    assert asked == 240
    assert beyond == []
    # On the whole neither rule is any better, or worse, than blind choice.
    assert total / expected == pytest.approx(1, abs=0.1)
