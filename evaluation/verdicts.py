"""The verdict of a gate: a figure, the bound that it must keep, and the rows that break it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from warehouse import AlpsbenchError

TOLD = 10
"""How many rows a failed gate names."""


class GateError(AlpsbenchError):
    """A release does not withstand what it was put to."""

    exit_code = 8


@dataclass(frozen=True)
class Gate:
    """One question asked of a release.

    `figure` and `bound` are counts of rows; `of` is how many rows were looked at. The gate passes while
    the figure is not above the bound.
    """

    gate: str
    track: str
    verdict: Literal["passed", "failed", "not_measured"]
    figure: int | None = None
    bound: int | None = None
    of: int | None = None
    chance: float | None = None
    detail: str | None = None
    rows: tuple[str, ...] = ()


def counted(gate: str, wrong: Iterable[str], of: int, track: str = "all") -> Gate:
    """Judge a gate that allows no wrong row."""
    rows = sorted(wrong)
    verdict: Literal["passed", "failed"] = "failed" if rows else "passed"
    return Gate(gate, track, verdict, len(rows), 0, of, rows=tuple(rows[:TOLD]))


def not_measured(gate: str, why: str) -> Gate:
    """Say that a question was not answered, and why."""
    return Gate(gate, "all", "not_measured", detail=why)


def raise_if_failed(gates: Sequence[Gate], place: str = "") -> None:
    """Raise GateError where a gate failed, saying which, by how much, and on which rows; `place` ends the message."""
    told = [
        f"{gate.gate} of {gate.track}: {gate.figure} rows, at most {gate.bound} allowed ({', '.join(gate.rows)})"
        for gate in gates
        if gate.verdict == "failed"
    ]
    if told:
        raise GateError(f"{len(told)} gate{'s' * (len(told) > 1)} failed: {'; '.join(told)}{place}")
