"""The twelve tracks of the benchmark, its splits, and the files of each."""

from collections.abc import Sequence
from dataclasses import dataclass

SPLITS = ("examples", "dev", "validation", "test")
HELD_OUT = "test"
INPUT, REFERENCE = "model_input.jsonl", "reference_output.jsonl"
ABILITIES = {
    "PA": "ability1",
    "PF_general": "ability2",
    "PF_interaction": "ability2",
    "VRA": "ability3",
    "CF": "ability4",
    "EI": "ability5",
}


@dataclass(frozen=True)
class Track:
    """One track: `kinds` are the kinds of target it is made of.

    In task 3, `distractors` is the size of its pools, and `level` its place among the sizes, from 0.
    """

    name: str
    task: str
    folder: str
    kinds: tuple[str, ...]
    distractors: int = 0
    level: int = 0


def tracks_of(distractors: Sequence[int]) -> tuple[Track, ...]:
    """Return the twelve tracks, with the pool sizes of task 3 as a recipe gives them."""
    return (
        Track("task1", "task1", "task1", ("extraction",)),
        Track("task2", "task2", "task2", ("update",)),
        *(
            Track(f"task3_d{size}", "task3", f"task3/d{size}", ("retrieval",), size, level)
            for level, size in enumerate(distractors)
        ),
        *(
            Track(f"task4_{name}", "task4", f"task4_{name}", tuple(k for k, v in ABILITIES.items() if v == name))
            for name in sorted(set(ABILITIES.values()))
        ),
    )
