import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from evaluation.shortcuts import upper_bound

ROWS = 20
SIZES = {"task2": 5, "task3_d9": 10, "task3_d19": 20}
TASK3 = ("task3_d9", "task3_d19")


def first(pool, gold, right, number):
    pool.insert(0, pool.pop(gold))


def last(pool, gold, right, number):
    pool.append(pool.pop(gold))


def renamed(pool, gold, right, name):
    if "selected_memory_id" in right:
        right["selected_memory_id"] = right["selected_memory"]["memory_id"] = name
    else:
        right["actions"][f"{name}_updated"] = right["actions"].pop(f"{pool[gold]['memory_id']}_updated")
    pool[gold]["memory_id"] = name


def smallest(pool, gold, right, number):
    renamed(pool, gold, right, f"a{number:016x}")


def largest(pool, gold, right, number):
    renamed(pool, gold, right, f"z{number:016x}")


def longest(pool, gold, right, number):
    pool[gold]["value"] += " since the summer of 1997"


def shortest(pool, gold, right, number):
    pool[gold]["value"] = chr(ord("a") + number)


def once(pool, gold, right, number):
    for place, one in enumerate(pool):
        if place != gold:
            one["memory_id"] = f"{'az'[place % 2]}{place}"


PLANTED = [
    *((first, "first_position", track) for track in SIZES),
    *((last, "last_position", track) for track in SIZES),
    *((largest, "largest_id", track) for track in SIZES),
    *((longest, "longest_value", track) for track in TASK3),
    *((shortest, "shortest_value", track) for track in TASK3),
    (once, "smallest_id_that_occurs_once", "task2"),
]


def plant(draft, fault, track):
    for number, (pool, gold, right) in enumerate(list(draft.pools(track))):
        fault(pool, gold, right, number)


@pytest.mark.parametrize(("fault", "name", "track"), PLANTED)
def test_a_planted_shortcut_is_found_on_its_track_alone(draft, fault, name, track):
    plant(draft, fault, track)
    [gate] = [gate for gate in draft.audit() if gate.verdict == "failed"]
    assert (gate.gate, gate.track) == (f"shortcut_{name}", track)
    assert (gate.figure, gate.of) == (ROWS, ROWS)
    assert gate.bound == binom.ppf(0.99, ROWS, 1 / SIZES[track])
    assert gate.chance == pytest.approx(1 / SIZES[track])
    ids = sorted(row["benchmark_id"] for row in draft.key if row["track"] == track)
    assert gate.rows == tuple(ids[:10])


@pytest.mark.parametrize("track", SIZES)
def test_the_smallest_id_is_also_the_smallest_that_occurs_once(draft, track):
    plant(draft, smallest, track)
    both = {("shortcut_smallest_id", track), ("shortcut_smallest_id_that_occurs_once", track)}
    assert draft.failed().keys() == both


@pytest.mark.parametrize("track", TASK3)
def test_the_only_id_that_occurs_once_is_found_beside_the_ids_that_do_not(draft, track):
    plant(draft, once, track)
    both = {("unique_candidate_ids", "all"), ("shortcut_smallest_id_that_occurs_once", track)}
    assert draft.failed().keys() == both


@pytest.mark.parametrize("extreme", [longest, shortest])
def test_lengths_are_no_shortcut_where_all_memories_are_shown(draft, extreme):
    for number, (pool, gold, right) in enumerate(list(draft.pools("task2"))):
        extreme(pool, gold, right, number)
    assert draft.failed() == {}


@pytest.mark.parametrize(("beyond", "verdict"), [(0, "passed"), (1, "failed")])
def test_a_shortcut_may_hit_as_often_as_chance_does_in_99_of_100(draft, beyond, verdict):
    hits = [math.comb(20, n) * 0.1**n * 0.9 ** (20 - n) for n in range(ROWS)]
    bound = next(k for k in range(ROWS) if sum(hits[: k + 1]) >= 0.99)
    pools = list(draft.pools("task3_d9"))
    already = sum(gold == len(pool) - 1 for pool, gold, _ in pools)
    wanted = bound + beyond
    for pool, gold, _ in pools:
        if already < wanted and gold != len(pool) - 1:
            pool.append(pool.pop(gold))
            already += 1
    [gate] = [gate for gate in draft.audit() if gate.gate == "shortcut_last_position" and gate.track == "task3_d9"]
    assert (gate.verdict, gate.figure, gate.bound) == (verdict, wanted, bound)


def test_a_track_without_rows_is_not_measured(draft):
    for split, track in draft.inputs:
        if track == "task2":
            draft.inputs[split, track].clear()
            draft.references[split, track].clear()
    draft.key = [row for row in draft.key if row["track"] != "task2"]
    gates = [gate for gate in draft.audit() if gate.track == "task2"]
    assert gates
    assert {(gate.verdict, gate.of, gate.figure) for gate in gates} == {("not_measured", 0, None)}


@given(st.integers(1, 400), st.integers(2, 1001))
def test_the_bound_of_equal_chances_is_the_binomial_quantile(rows, size):
    bound = upper_bound([1 / size] * rows)
    assert binom.cdf(bound, rows, 1 / size) >= 0.99 - 1e-9
    assert bound == 0 or binom.cdf(bound - 1, rows, 1 / size) < 0.99 + 1e-9


@given(st.lists(st.integers(1, 12), max_size=9))
def test_the_bound_of_unequal_chances_is_that_of_all_outcomes_together(sizes):
    chances = [0.0] * (len(sizes) + 1)
    for outcome in itertools.product((0, 1), repeat=len(sizes)):
        ways = [Fraction(1, size) if hit else 1 - Fraction(1, size) for hit, size in zip(outcome, sizes, strict=True)]
        chances[sum(outcome)] += float(math.prod(ways))
    expected = next(k for k in range(len(chances)) if sum(chances[: k + 1]) >= 0.99 - 1e-12)
    assert upper_bound([1 / size for size in sizes]) == expected


def test_the_bound_is_kept_by_simulated_blind_choice():
    chances = np.array([1 / 5] * 40 + [1 / 10] * 30 + [1 / 101] * 30)
    hits = (np.random.default_rng(7).random((40_000, 100)) < chances).sum(axis=1)
    bound = upper_bound(list(chances))
    assert (hits <= bound).mean() >= 0.988
    assert (hits <= bound - 1).mean() < 0.99


def test_nothing_to_choose_from_allows_no_hit():
    assert upper_bound([]) == 0
