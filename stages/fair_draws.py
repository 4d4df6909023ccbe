"""Draws where the right answer stands among others, so that no blind rule finds it more often than chance would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evaluation.shortcuts import upper_bound
from stages.draws import digest, share

ATTEMPTS = 50
Made = TypeVar("Made")


@dataclass(frozen=True)
class Pool:
    """Candidates to choose from: a key that no other pool has, and how many they are."""

    key: str
    size: int


def candidate_id(key: str, place: int) -> str:
    """Return the id of what stands at a place of a pool: it tells nothing, and stands nowhere else."""
    return "c" + digest("candidate", key, place)[:16]


def fair_places(pools: Sequence[Pool]) -> list[int]:
    """Draw a place (from 0) for the right candidate of each pool.

    A draw by hash puts it first, last, or at the smallest or largest id more often than the bound once in
    some draws; then all are drawn anew, with the next number in the hash.
    """
    blind = [_blind_places(pool) for pool in pools]
    bound = upper_bound([1 / pool.size for pool in pools])

    def draw(attempt: int) -> list[int]:
        return [int(share("place", attempt, pool.key) * pool.size) for pool in pools]

    def is_fair(places: list[int]) -> bool:
        hits = [sum(one == place for one, place in zip(rule, places, strict=True)) for rule in zip(*blind, strict=True)]
        return all(count <= bound for count in hits)

    return first_fair(draw, is_fair)


def _blind_places(pool: Pool) -> tuple[int, int, int, int]:
    ids = [candidate_id(pool.key, place) for place in range(pool.size)]
    return 0, pool.size - 1, ids.index(min(ids)), ids.index(max(ids))


def fair_lengths(pools: Sequence[tuple[int, Sequence[int]]]) -> bool:
    """Say whether the right one is the longest, or the shortest, no more often than chance would make it.

    Each pool is the length of the right candidate and those of the others.
    """
    bound = upper_bound([1 / (len(others) + 1) for _, others in pools])
    longest = sum(all(right > other for other in others) for right, others in pools)
    shortest = sum(all(right < other for other in others) for right, others in pools)
    return max(longest, shortest) <= bound


def first_fair(draw: Callable[[int], list[Made]], is_fair: Callable[[list[Made]], bool]) -> list[Made]:
    """Return the first fair draw; the very first where none of many is, for the audit to find."""
    for attempt in range(ATTEMPTS):
        if is_fair(made := draw(attempt)):
            return made
    return draw(0)
