"""Each way to find the gold by looking elsewhere in the public files, planted in a sound release."""

import pytest
from scipy.stats import binom

from evaluation.recurrence import rules_of

TRACKS = {"task3_d9": 10, "task3_d19": 20}
HELD_OUT_ROWS = 11


def held_out(draft, track):
    """Give the id, the candidates and the right candidate of each held-out row."""
    for number, shown in enumerate(draft.inputs["test", track]):
        pool = shown["input"]["candidate_memories"]
        right = draft.references["test", track][number]["gold"]["selected_memory_id"]
        yield shown["benchmark_id"], pool, next(one for one in pool if one["memory_id"] == right)


def distractors(rows):
    return [one for _, pool, gold in rows for one in pool if one is not gold]


def in_fewest(draft, track):
    """All pools hold the same distractors; each gold stands in one."""
    rows = list(held_out(draft, track))
    for _, pool, gold in rows:
        for place, one in enumerate(other for other in pool if other is not gold):
            one["value"] = f"Keeps {'abcdefghij'[: 6 + place % 5]} {place}"
    return [name for name, *_ in rows]


def in_most(draft, track):
    """Eight golds are distractors in one other pool each, and no distractor stands in two pools."""
    rows = list(held_out(draft, track))
    for (_, _, gold), one in zip(rows[:8], distractors(rows[8:9]), strict=False):
        one["value"] = gold["value"]
    return [name for name, *_ in rows[:8]]


def in_no_public_pool(draft, track):
    """Every held-out distractor stands in some public pool, too; no gold does."""
    public = [
        one
        for split in ("examples", "dev", "validation")
        for name in TRACKS
        for shown, row in zip(draft.inputs[split, name], draft.references[split, name], strict=True)
        for one in shown["input"]["candidate_memories"]
        if one["memory_id"] != row["gold"]["selected_memory_id"]
    ]
    rows = list(held_out(draft, track))
    wanted = distractors(rows)
    assert len(wanted) <= len(public)
    for one, other in zip(public, wanted, strict=False):
        one["value"] = other["value"]
    return [name for name, *_ in rows]


def in_a_shown_state(draft, track):
    """Every gold stands in a state that task 2 shows."""
    rows = list(held_out(draft, track))
    for (_, _, gold), shown in zip(rows, draft.inputs["test", "task2"], strict=True):
        shown["input"]["memory"][0]["value"] = gold["value"]
    return [name for name, *_ in rows]


def in_a_selected_memory(draft, track):
    """Every gold is the memory that ability 1 shows somewhere, with public rows among them."""
    rows = list(held_out(draft, track))
    shown = [row for split in ("dev", "validation", "test") for row in draft.inputs[split, "task4_ability1"]]
    for (_, _, gold), row in zip(rows, shown, strict=False):
        row["input"]["model_input"]["selected_memory"]["value"] = gold["value"]
    return [name for name, *_ in rows]


PLANTED = [
    (in_fewest, "value_in_fewest_pools"),
    (in_most, "value_in_most_pools"),
    (in_no_public_pool, "value_in_no_public_pool"),
    (in_a_shown_state, "value_shown_in_another_track"),
    (in_a_selected_memory, "value_shown_in_another_track"),
]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize(("fault", "name"), PLANTED, ids=[fault.__name__ for fault, _ in PLANTED])
def test_a_gold_that_is_found_by_looking_elsewhere_fails_one_gate_of_its_track(draft, track, fault, name):
    told = fault(draft, track)

    [gate] = [gate for gate in draft.audit() if gate.verdict == "failed"]

    assert (gate.gate, gate.track, gate.of) == (f"shortcut_{name}", track, HELD_OUT_ROWS)
    assert gate.bound == binom.ppf(0.99, HELD_OUT_ROWS, 1 / TRACKS[track])
    assert len(told) <= gate.figure <= len(told) + 1
    assert set(gate.rows) >= set(sorted(told)[:8])


@pytest.mark.parametrize("split", ["dev", "validation"])
def test_public_rows_may_be_looked_up_for_their_gold_is_public(draft, split):
    for shown, row in zip(draft.inputs[split, "task3_d9"], draft.inputs[split, "task2"], strict=True):
        right = next(
            one["gold"]["selected_memory"]["value"]
            for one in draft.references[split, "task3_d9"]
            if one["benchmark_id"] == shown["benchmark_id"]
        )
        row["input"]["memory"][0]["value"] = right

    assert draft.failed() == {}


def test_what_a_rule_cannot_tell_apart_it_hits_as_chance_does(draft):
    gates = [gate for gate in draft.audit() if gate.gate.startswith("shortcut_value_")]

    # Every value of the release stands in one pool and nowhere else.
    assert {(gate.track, gate.verdict, gate.rows) for gate in gates} == {(name, "passed", ()) for name in TRACKS}
    assert len(gates) == 4 * len(TRACKS)
    assert {gate.track: gate.figure for gate in gates} == {"task3_d9": 2, "task3_d19": 1}


def test_a_track_without_held_out_rows_is_not_measured(draft):
    gone = {row["benchmark_id"] for row in draft.inputs["test", "task3_d9"]}
    draft.inputs["test", "task3_d9"].clear()
    draft.references["test", "task3_d9"].clear()
    draft.key = [row for row in draft.key if row["benchmark_id"] not in gone]

    gates = [gate for gate in draft.audit() if gate.gate.startswith("shortcut_value_") and gate.track == "task3_d9"]

    assert [(gate.verdict, gate.of) for gate in gates] == [("not_measured", 0)] * 4


@pytest.mark.parametrize(
    ("name", "liked"),
    [
        ("value_in_fewest_pools", [1, 3]),
        ("value_in_most_pools", [0]),
        ("value_in_no_public_pool", [0, 3]),
        ("value_shown_in_another_track", [2]),
    ],
)
def test_a_rule_gives_all_candidates_that_it_likes_best(name, liked):
    rules = rules_of({"a": 3, "b": 1, "c": 2, "d": 1}, pools={"b", "c"}, shown={"c"})

    assert rules[name]([{"value": value} for value in "abcd"]) == liked
