"""What a release has to withstand before it is published: each gate is one question with a figure and a bound."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.leaks import Limits, lexical_leak
from evaluation.recurrence import recurrence_gates
from evaluation.released import Release, Row
from evaluation.shortcuts import shortcut_gates
from evaluation.tracks import HELD_OUT, Track
from evaluation.verdicts import Gate, counted, not_measured

MESSAGE = dict.fromkeys(("role", "text"))
CANDIDATE = dict.fromkeys(("memory_id", "value", "label"))
MEMORY = dict.fromkeys(("memory_id", "type", "label", "value", "confidence", "evidence_text"))
INPUTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "task1": [{"dialogue": MESSAGE}],
    "task2": [{"memory": MEMORY, "old_dialogue": MESSAGE, "new_dialogue": MESSAGE, "query": None}],
    "task3": [{"query": None, "candidate_memories": CANDIDATE}],
    "task4": [
        {"model_input": {"query": None, "selected_memory": MEMORY}},
        {"model_input": {"query": None, "dialogue_history": MESSAGE}},
    ],
}
"""What `input` may be in each task: the fields of an object, or of each in a list; None is a text or number."""


@dataclass(frozen=True)
class Facts:
    """What the gates are told beside the files; None stands for what is not known.

    `item_ids` are the items of the warehouse, `verified_share` the share (0 to 1) of gold that people verified,
    `auditor_leaks` the items whose query an auditor that is a model found leaking.
    """

    item_ids: frozenset[str] | None
    limits: Limits
    verified_share: float | None
    auditor_leaks: frozenset[str] | None


def audit(release: Release, facts: Facts) -> list[Gate]:
    """Ask every gate of a release, in the order in which they are shown."""
    return [
        *unique_ids(release),
        *shortcut_gates(release),
        *recurrence_gates(release),
        envelope_only(release),
        gold_is_hidden(release),
        *splits_are_disjoint(release),
        no_lexical_leak(release, facts),
        *items_are_conserved(release, facts),
        no_leak_found_by_auditor(release, facts),
        *unmeasured(facts),
    ]


def unique_ids(release: Release) -> Iterator[Gate]:
    """No two rows share a benchmark_id; no candidate id of task 3 stands twice, in one pool or in two."""
    rows, candidates = Counter[str](), Counter[str]()
    for split, track in release.places():
        for row in release.inputs(split, track):
            rows[row["benchmark_id"]] += 1
            candidates.update(one["memory_id"] for one in row["input"].get("candidate_memories", ()))
    yield counted("unique_benchmark_ids", (one for one, times in rows.items() if times > 1), rows.total())
    repeated = (one for one, times in candidates.items() if times > 1)
    yield counted("unique_candidate_ids", repeated, candidates.total())


def envelope_only(release: Release) -> Gate:
    """No input row holds a field beside those of the published envelope, however deep."""
    wrong, total = [], 0
    for split, track in release.places():
        own = dict.fromkeys(("benchmark_id", "task", *(["ability"] if track.task == "task4" else [])))
        forms = [own | {"input": form} for form in INPUTS[track.task]]
        for row in release.inputs(split, track):
            total += 1
            if not any(_fits(row, form) for form in forms):
                wrong.append(row["benchmark_id"])
    return counted("envelope_only", wrong, total)


def _fits(value: object, form: Mapping[str, Any] | None) -> bool:
    if isinstance(value, list):
        return form is not None and all(_fits(one, form) for one in value)
    if not isinstance(value, dict) or form is None:
        return not isinstance(value, dict) and form is None
    return value.keys() == form.keys() and all(_fits(part, form[name]) for name, part in value.items())


def gold_is_hidden(release: Release) -> Gate:
    """No gold of a held-out row stands in a public file (see `_gold_of` and `_shown_in`); no other file is."""
    shown = {fact for split, track in release.places() for fact in _public_facts(release, split, track)}
    found, total = release.strays(), 0
    for track in release.tracks:
        for row in release.references(HELD_OUT, track):
            facts = set(_gold_of(track, row))
            total += 1
            if facts & shown:
                found.append(row["benchmark_id"])
    return counted("gold_hidden", found, total)


def _public_facts(release: Release, split: str, track: Track) -> Iterator[Any]:
    for row in release.inputs(split, track):
        yield from _shown_in(track, row)
    if split != HELD_OUT:
        for row in release.references(split, track):
            yield from _gold_of(track, row)


def _shown_in(track: Track, row: Row) -> Iterator[Any]:
    """The memories, states and texts that an input row shows; the candidates of its own pool are no gold."""
    shown = row["input"]
    if track.task == "task2":
        yield from (_plain(one["value"]) for one in shown["memory"])
        yield _state(shown["memory"])
    elif track.task == "task3":
        yield from (_plain(one["value"]) for one in shown["candidate_memories"])
    elif track.task == "task4" and "selected_memory" in shown["model_input"]:
        yield _plain(shown["model_input"]["selected_memory"]["value"])


def _gold_of(track: Track, row: Row) -> Iterator[Any]:
    """What must not be found elsewhere: values of task 1, states of task 2, selected ids, reference answers."""
    gold = row["gold"]
    if track.task == "task1":
        yield from (_plain(one["value"]) for one in gold["memory_items"])
    elif track.task == "task2":
        yield _state(gold["answer"])
    elif track.task == "task3":
        yield ("selected", gold["selected_memory_id"])
    else:
        yield ("answer", _plain(gold["reference_answer"]))
        if row["gold"]["variant"] != "PA":
            yield _plain(gold["selected_memory"]["value"])


def _state(memories: Iterable[Mapping[str, str]]) -> frozenset[str]:
    return frozenset(_plain(one["value"]) for one in memories)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def splits_are_disjoint(release: Release) -> Iterator[Gate]:
    """No user, group of near-duplicates, dialogue or memory serves two splits."""
    for field in ("user_id", "group_id", "dialogue_id", "memory_id"):
        splits: dict[str, set[str]] = {}
        for row in release.key.values():
            if row[field]:
                splits.setdefault(row[field], set()).add(row["split"])
        yield counted(
            f"one_split_a_{field.removesuffix('_id')}",
            (k for k, v in splits.items() if len(v) > 1),
            len(splits),
        )


def no_lexical_leak(release: Release, facts: Facts) -> Gate:
    """No query shares the distinctive words of its memory."""
    leaking, total = [], 0
    for split, track in release.places():
        if track.task not in ("task3", "task4"):
            continue
        gold = {row["benchmark_id"]: row["gold"]["selected_memory"] for row in release.references(split, track)}
        for row in release.inputs(split, track):
            memory, behind = gold.get(row["benchmark_id"]), release.key.get(row["benchmark_id"])
            if memory is None or behind is None:  # rows_conserved tells it
                continue
            total += 1
            query = row["input"]["query"] if track.task == "task3" else row["input"]["model_input"]["query"]
            if lexical_leak(query, memory["value"], behind["evidence_text"], behind["language"], facts.limits).leaks:
                leaking.append(row["benchmark_id"])
    return counted("no_lexical_leak", leaking, total)


def items_are_conserved(release: Release, facts: Facts) -> Iterator[Gate]:
    """Inputs, references and key have the same rows in the same places, and every item of the warehouse is there."""
    inputs, references = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for split, track in release.places():
        inputs.update((split, track.name, row["benchmark_id"]) for row in release.inputs(split, track))
        references.update((split, track.name, row["benchmark_id"]) for row in release.references(split, track))
    key = Counter((row["split"], row["track"], row["benchmark_id"]) for row in release.key.values())
    odd = (inputs - references) | (references - inputs) | (inputs - key) | (key - inputs)
    yield counted("rows_conserved", {benchmark_id for *_, benchmark_id in odd}, inputs.total())
    if facts.item_ids is not None:
        released = {row["item_id"] for row in release.key.values()}
        yield counted("items_conserved", facts.item_ids ^ released, len(facts.item_ids))


def no_leak_found_by_auditor(release: Release, facts: Facts) -> Gate:
    """The auditor, where it is a model whose verdicts are known, quotes no leak from a query."""
    if facts.auditor_leaks is None:
        return not_measured("no_leak_found_by_auditor", "rules, not a model, looked at the queries")
    leaking = (row["benchmark_id"] for row in release.key.values() if row["item_id"] in facts.auditor_leaks)
    return counted("no_leak_found_by_auditor", leaking, len(release.key))


def unmeasured(facts: Facts) -> Iterator[Gate]:
    """Questions that need judgement, which rules do not have."""
    yield not_measured("not_guessable_without_memory", "needs a judge that answers without the memory")
    yield not_measured("answer_depends_on_memory", "needs a judge that answers with and without the memory")
    if facts.verified_share is not None and facts.verified_share < 1:
        share = f"{facts.verified_share:.0%} of the gold memories were verified by people"
        yield not_measured("gold_verified_by_people", share)
