"""Rules that pick an answer without reading: none may find the gold more often than chance would."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from scipy.stats import binom

from evaluation.released import Release
from evaluation.tracks import Track
from evaluation.verdicts import TOLD, Gate

CONFIDENCE = 0.99
"""The level of the upper bound of chance."""
Candidate = Mapping[str, Any]
Shortcut = Callable[[Sequence[Candidate]], Sequence[int]]
"""Gives the places of the candidates that a rule likes best: one, or several that it cannot tell apart."""
Question = tuple[str, Sequence[Candidate], str]
"""The benchmark_id of a row, its candidates, and the id of the right one."""


def extreme(measure: Callable[[Candidate], Any], pick: Callable[..., Any]) -> Shortcut:
    """Return the rule that picks the candidates with the least (`min`) or the greatest (`max`) measure."""

    def shortcut(candidates: Sequence[Candidate]) -> Sequence[int]:
        measures = [measure(one) for one in candidates]
        best = pick(measures)
        return [place for place, measured in enumerate(measures) if measured == best]

    return shortcut


SHORTCUTS: Mapping[str, Shortcut] = {
    "smallest_id": extreme(lambda one: one["memory_id"], min),
    "largest_id": extreme(lambda one: one["memory_id"], max),
    "first_position": lambda candidates: [0],
    "last_position": lambda candidates: [len(candidates) - 1],
    "shortest_value": extreme(lambda one: len(one["value"]), min),
    "longest_value": extreme(lambda one: len(one["value"]), max),
}


def shortcut_gates(release: Release) -> Iterator[Gate]:
    """Try every shortcut on every track that shows candidates: the pools of task 3, the memories of task 2."""
    for track in release.tracks:
        if track.task not in ("task2", "task3"):
            continue
        rows = [row for split in _splits(release) for row in questions(release, split, track)]
        shortcuts = {**SHORTCUTS, "smallest_id_that_occurs_once": _ids_that_occur_once(rows)}
        for name, shortcut in shortcuts.items():
            # Task 2 shows all memories of a sample: their lengths are not drawn, and are part of the task.
            if track.task == "task3" or not name.endswith("_value"):
                yield judged(name, track, shortcut, rows)


def _splits(release: Release) -> Sequence[str]:
    return sorted({split for split, _ in release.places()})


def questions(release: Release, split: str, track: Track) -> Iterator[Question]:
    """Give the rows of a track that ask to choose; in task 2 the right one is the memory which will change."""
    gold = {row["benchmark_id"]: row["gold"] for row in release.references(split, track)}
    for row in release.inputs(split, track):
        answer = gold.get(row["benchmark_id"])
        if answer is None:  # the gate rows_conserved tells it
            continue
        if track.task == "task3":
            yield row["benchmark_id"], row["input"]["candidate_memories"], answer["selected_memory_id"]
        else:
            changed = next((one for one, action in answer["actions"].items() if action == "Modification"), "")
            yield row["benchmark_id"], row["input"]["memory"], changed.removesuffix("_updated")


def _ids_that_occur_once(rows: Sequence[Question]) -> Shortcut:
    times = Counter(one["memory_id"] for _, candidates, _ in rows for one in candidates)

    def shortcut(candidates: Sequence[Candidate]) -> Sequence[int]:
        order = sorted(range(len(candidates)), key=lambda place: candidates[place]["memory_id"])
        return [next((place for place in order if times[candidates[place]["memory_id"]] == 1), order[0])]

    return shortcut


def judged(name: str, track: Track, shortcut: Shortcut, rows: Sequence[Question]) -> Gate:
    """Compare how often a rule finds the right candidate with the upper bound of chance.

    Among several that it likes best a rule chooses blindly: the right one among n of them is the nth part of a hit.
    """
    hits, told = 0.0, []
    for benchmark_id, candidates, gold in rows:
        liked = [candidates[place]["memory_id"] for place in shortcut(candidates)]
        if gold in liked:
            hits += 1 / len(liked)
            if len(liked) < len(candidates):
                told.append(benchmark_id)
    gate = f"shortcut_{name}"
    if not rows:
        return Gate(gate, track.name, "not_measured", of=0, detail="the track has no rows")
    chances = [1 / len(candidates) for _, candidates, _ in rows]
    bound, chance = upper_bound(chances), sum(chances) / len(chances)
    figure = math.ceil(hits - 1e-9)
    if figure <= bound:
        return Gate(gate, track.name, "passed", figure, bound, len(rows), chance)
    return Gate(gate, track.name, "failed", figure, bound, len(rows), chance, None, tuple(sorted(told)[:TOLD]))


def upper_bound(chances: Sequence[float]) -> int:
    """Return the number of hits that blind choice stays within, with the probability CONFIDENCE.

    `chances` are the rows' chances of a blind hit (0 to 1). Where all are the same the number of hits is binomial,
    else the sum of one binomial for each chance.
    """
    distributions = [binom.pmf(range(times + 1), times, chance) for chance, times in sorted(Counter(chances).items())]
    total = reduce(lambda one, other: np.convolve(one, other), distributions, np.ones(1))
    # Sums of rounded numbers: 0.99 itself may come out a little smaller.
    return int(np.searchsorted(np.cumsum(total), CONFIDENCE - 1e-12))
