import hashlib
from itertools import pairwise

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from stages import retrieval_items
from stages.retrieval_items import distractors_of

SIZES = (5, 10, 20)
LABELS = ("Preferences/Food", "Possessions/Pet", "Plans/Schedule", "Possessions/Car")
DRAFTS = "target_id | attempt::integer | query | leaks::boolean | shared_words::varchar[]\n-\n"
MEMORIES = "memory_id | user_id | label | value | context\n-\n"


def first_16(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture
def pooled(given, settle):
    """Give the items of `count` targets, with distractors out of a bank of `banked` memories."""

    def make(count=6, banked=40, drafts=None, without=(), more_memories=(), duplicates=()):
        numbers = [n for n in range(count) if f"t{n}" not in without]
        bank = [
            f"b{n} | ub{n % 7} | {LABELS[n % 3]} | value {n} | self" for n in range(banked) if f"b{n}" not in without
        ]
        own = [f"m{n} | u{n} | {LABELS[n % 4]} | value {n} | self" for n in range(count)]
        users = [f"u{n} | test" for n in range(count)] + [f"ub{n} | bank" for n in range(7)]
        texts = [f"t{n} | 0 | query {n} | false | []" for n in numbers] if drafts is None else drafts
        rows = [f"t{n} | retrieval | u{n} | test | m{n} | {LABELS[n % 4]}" for n in numbers]
        other = ["tx | update | u0 | test | m0 | Plans/Schedule"]
        db = given(
            targets="target_id | kind | user_id | split | memory_id | label\n-\n" + "\n".join(rows + other),
            memories=MEMORIES + "\n".join([*bank, *own, *more_memories]),
            splits="user_id | split\n-\n" + "\n".join(users),
            query_drafts=DRAFTS + "\n".join(texts),
            duplicate_memories="member_id\n-\n" + "\n".join(duplicates),
        )
        return settle(db, retrieval_items, distractors=SIZES)

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
        assert set(row["distractor_ids"]) <= {f"b{n}" for n in range(40)}


def test_a_place_is_drawn_in_each_pool(pooled):
    for row in pooled().rows:
        assert all(0 <= place <= size for place, size in zip(row["places"], SIZES, strict=True))


def test_the_smallest_pool_holds_a_distractor_of_the_targets_label_where_the_bank_does(pooled):
    settled = pooled(count=40)

    in_bank = {f"b{n}": LABELS[n % 3] for n in range(40)}
    for target, pool in pools(settled).items():
        label = LABELS[int(target[1:]) % 4]
        assert (label in {in_bank[one] for one in pool[:5]}) is (label != "Possessions/Car")


def test_only_memories_about_users_of_the_bank_that_are_no_near_duplicates_are_distractors(pooled):
    more = ["x1 | ub1 | Possessions/Car | value | role_play", "x2 | u1 | Possessions/Car | value | self"]

    settled = pooled(banked=21, more_memories=more, duplicates=["b3"])

    assert {frozenset(pool) for pool in pools(settled).values()} == {frozenset(f"b{n}" for n in range(21) if n != 3)}


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
    bank = [(f"b{n}", label, 10) for n, label in enumerate(labels)]
    target = {"target_id": "t1", "label": "A"}

    drawn = [distractors_of(target, bank, sizes[: length + 1], attempt) for length in range(len(sizes))]

    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(drawn))
    assert len(drawn[-1]) == len(set(drawn[-1])) == min(sizes[-1], len(bank))
    assert ("A" in {labels[int(one[1:])] for one in drawn[0]}) is ("A" in labels)
