"""Draws where the right answer stands among others, so that no blind rule finds it more often than chance would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evaluation.shortcuts import upper_bound
from stages.draws import digest, share

ATTEMPTS = 50
RULES = 4
Made = TypeVar("Made")


@dataclass(frozen=True)
class Pool:
    """Candidates to choose from: a key that no other pool has, how many they are, and whether the gold is sealed."""

    key: str
    size: int
    is_held_out: bool = False


def candidate_id(key: str, place: int) -> str:
    """Return the id of what stands at a place of a pool: it tells nothing, and stands nowhere else."""
    return "c" + digest("candidate", key, place)[:16]


def fair_places(pools: Sequence[Pool]) -> list[int]:
    """Draw a place (from 0) for the right candidate of each pool.

    A draw by hash puts it first, last, or at the smallest or largest id more often than the bound once in
    some draws, over all pools or over the held-out ones; then all are drawn anew, with the next number in the hash.
    """
    blind = [_blind_places(pool) for pool in pools]
    sides = [list(range(len(pools))), [place for place, pool in enumerate(pools) if pool.is_held_out]]
    bounds = [upper_bound([1 / pools[one].size for one in side]) for side in sides]

    def draw(attempt: int) -> list[int]:
        return [int(share("place", attempt, pool.key) * pool.size) for pool in pools]

    def is_fair(places: list[int]) -> bool:
        hits = [[one == place for one in rules] for rules, place in zip(blind, places, strict=True)]
        return all(
            sum(hits[one][rule] for one in side) <= bound
            for side, bound in zip(sides, bounds, strict=True)
            for rule in range(RULES)
        )

    return first_fair(draw, is_fair)


def _blind_places(pool: Pool) -> tuple[int, int, int, int]:
    ids = [candidate_id(pool.key, place) for place in range(pool.size)]
    return 0, pool.size - 1, ids.index(min(ids)), ids.index(max(ids))


def fair_extremes(pools: Sequence[tuple[int, Sequence[int]]]) -> bool:
    """Say whether the right one has the greatest measure, or the least, no more often than chance would make it.

    Each pool is the measure of the right candidate, such as its length, and those of the others. One of n that have
    the greatest together counts as the nth part of one.
    """
    bound = upper_bound([1 / (len(others) + 1) for _, others in pools])
    greatest = sum(1 / (1 + others.count(right)) for right, others in pools if right >= max(others))
    least = sum(1 / (1 + others.count(right)) for right, others in pools if right <= min(others))
    return max(greatest, least) <= bound + 1e-9


def first_fair(draw: Callable[[int], list[Made]], is_fair: Callable[[list[Made]], bool]) -> list[Made]:
    """Return the first fair draw; the very first where none of many is, for the audit to find."""
    for attempt in range(ATTEMPTS):
        if is_fair(made := draw(attempt)):
            return made
    return draw(0)
