"""Rules that look up where else a value stands: in how many pools, in public ones, among what other tracks show."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from evaluation.released import Release
from evaluation.shortcuts import Candidate, Shortcut, extreme, judged, questions
from evaluation.tracks import HELD_OUT, SPLITS
from evaluation.verdicts import Gate


def recurrence_gates(release: Release) -> Iterator[Gate]:
    """Try on each held-out track of task 3 whether it can be solved by looking elsewhere in the public files."""
    tracks = [track for track in release.tracks if track.task == "task3"]
    public = [split for split in SPLITS if split != HELD_OUT]
    pools = {
        one["value"]
        for split in public
        for track in tracks
        for _, pool, _ in questions(release, split, track)
        for one in pool
    }
    shown = set(_shown_elsewhere(release))
    for track in tracks:
        rows = list(questions(release, HELD_OUT, track))
        times = Counter(one["value"] for _, pool, _ in rows for one in pool)
        for name, shortcut in rules_of(times, pools, shown).items():
            yield judged(name, track, shortcut, rows)


def rules_of(times: Mapping[str, int], pools: Collection[str], shown: Collection[str]) -> dict[str, Shortcut]:
    """Return the rules, given in how many pools each value stands, which stand in public pools, which elsewhere."""
    return {
        "value_in_fewest_pools": extreme(lambda one: times[one["value"]], min),
        "value_in_most_pools": extreme(lambda one: times[one["value"]], max),
        "value_in_no_public_pool": extreme(lambda one: one["value"] in pools, min),
        "value_shown_in_another_track": extreme(lambda one: one["value"] in shown, max),
    }


def _shown_elsewhere(release: Release) -> Iterator[str]:
    for split, track in release.places():
        for row in release.inputs(split, track):
            if track.task == "task2":
                yield from _values(row["input"]["memory"])
            elif track.task == "task4" and "selected_memory" in row["input"]["model_input"]:
                yield row["input"]["model_input"]["selected_memory"]["value"]


def _values(memories: Sequence[Candidate]) -> Iterator[str]:
    return (one["value"] for one in memories)
