import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from stages.draws import share
from stages.fair_draws import ATTEMPTS, Pool, candidate_id, fair_extremes, fair_places, first_fair

RULES = {
    "first": lambda ids: 0,
    "last": lambda ids: len(ids) - 1,
    "smallest id": lambda ids: ids.index(min(ids)),
    "largest id": lambda ids: ids.index(max(ids)),
}


def hits(pools, places):
    """How often each blind rule finds the right candidate."""
    ids = [[candidate_id(pool.key, place) for place in range(pool.size)] for pool in pools]
    return {
        name: sum(rule(one) == place for one, place in zip(ids, places, strict=True)) for name, rule in RULES.items()
    }


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 10**6))
def test_places_are_within_their_pools_and_no_blind_rule_beats_chance(size, count, seed):
    pools = [Pool(f"i{seed}-{number}", size) for number in range(count)]

    places = fair_places(pools)

    assert all(0 <= place < size for place in places)
    # 99 of 100 times blind choice finds no more.
    assert max(hits(pools, places).values()) <= binom.ppf(0.99, count, 1 / size)


def test_a_first_draw_that_favours_a_blind_rule_is_drawn_anew():
    batches = [[Pool(f"i{seed}-{number}", 3) for number in range(30)] for seed in range(200)]
    bound = binom.ppf(0.99, 30, 1 / 3)
    first = [[int(share("place", 0, pool.key) * pool.size) for pool in pools] for pools in batches]

    drawn = [fair_places(pools) for pools in batches]

    assert all(max(hits(pools, places).values()) <= bound for pools, places in zip(batches, drawn, strict=True))
    assert any(max(hits(pools, places).values()) > bound for pools, places in zip(batches, first, strict=True))


@given(st.lists(st.integers(1, 12), max_size=30))
def test_pools_of_several_sizes_have_a_place_each(sizes):
    places = fair_places([Pool(f"i{number}", size) for number, size in enumerate(sizes)])

    assert len(places) == len(sizes)
    assert all(0 <= place < size for place, size in zip(places, sizes, strict=True))


def test_every_place_of_a_pool_is_drawn():
    places = fair_places([Pool(f"i{number}", 5) for number in range(500)])

    assert {place: 70 < places.count(place) < 130 for place in range(5)} == dict.fromkeys(range(5), True)


def test_where_the_first_draw_stands_a_pool_taken_away_changes_no_other_place():
    pools = [Pool(f"i{number}", 100) for number in range(50)]
    whole = fair_places(pools)

    assert fair_places(pools[:20] + pools[21:]) == whole[:20] + whole[21:]


def test_ids_tell_nothing_and_repeat_nowhere():
    ids = [candidate_id(key, place) for key in ("i1", "i1|100", "i2") for place in range(300)]

    assert len(set(ids)) == 900
    assert ids[:300] != sorted(ids[:300])


@pytest.mark.parametrize(
    ("pools", "is_fair"),
    [
        ([], True),
        ([(5, [5, 5, 5])] * 50, True),
        ([(9, [1, 2, 3])] * 50, False),
        ([(1, [2, 3, 9])] * 50, False),
        ([(2, [1, 2, 3])] * 50, True),
        ([(9, [9, 1, 5])] * 50, False),
        ([(9, [9, 9, 1])] * 50, True),
        ([(1, [1, 9, 5])] * 50, False),
        ([(9, [1, 2, 3])] * 12 + [(1, [2, 3, 9])] * 12 + [(2, [1, 2, 3])] * 26, True),
    ],
)
def test_measures_are_fair_while_the_greatest_and_the_least_are_no_better_than_chance(pools, is_fair):
    assert fair_extremes(pools) is is_fair


def test_the_first_fair_draw_is_taken():
    assert first_fair(lambda attempt: [attempt], lambda made: made >= [3]) == [3]


def test_where_no_draw_is_fair_the_very_first_is_left_for_the_audit_to_find():
    judged: list[list[int]] = []

    def is_fair(made):
        judged.append(made)
        return False

    assert first_fair(lambda attempt: [attempt], is_fair) == [0]
    assert judged == [[attempt] for attempt in range(ATTEMPTS)]
