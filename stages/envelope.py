"""The rows of a release: what a system sees of an item, and what is held against its answer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evaluation.tracks import ABILITIES, Track
from stages.draws import digest
from stages.fair_draws import candidate_id
from stages.retrieval_items import pool_key
from warehouse import Warehouse

Row = dict[str, Any]
Bank = Mapping[str, tuple[str, str]]
"""Value and label of each memory that may be a distractor."""
UPDATE = (
    "Bring the memories up to date with the new dialogue: keep those that still hold, change those that no longer do "
    "(the id of a changed memory gets the ending _updated), and add what is new about the user. Return the whole state."
)
EXTRACTION = "select benchmark_id, dialogue, gold from release_rows join extraction_items using (item_id)"
UPDATES = """
    select benchmark_id, memory, turns, new_dialogue, answer, actions
    from release_rows
    join update_items using (item_id)
    join dialogues on dialogues.dialogue_id = update_items.dialogue_id
"""
RETRIEVAL = """
    select benchmark_id, item_id, query, target.memory_id, value, target.label, distractor_ids, places
    from release_rows
    join retrieval_items using (item_id)
    join memories as target on target.memory_id = release_rows.memory_id
"""
UTILIZATION = """
    select benchmark_id, ability, query, reference_answer, rubric, turns, struct_pack(
        memory_id := target.memory_id, type := target.type, label := target.label, value := value,
        confidence := target.confidence, evidence_text := evidence_text)
    from release_rows
    join utilization_items using (item_id)
    join memories as target on target.memory_id = release_rows.memory_id
    join dialogues on dialogues.dialogue_id = target.dialogue_id
"""
BANK = """
    select memory_id, value, label from memories
    where memory_id in (select unnest(distractor_ids) from retrieval_items)
"""
OF_TRACK = " where release_rows.track = $track and release_rows.split = $split order by benchmark_id"


def input_rows(db: Warehouse, track: Track, split: str) -> Iterator[Row]:
    """Give the rows of `model_input.jsonl`: nothing in them but what the task needs."""
    bank = {one: (value, label) for one, value, label in db.execute(BANK).fetchall()} if track.distractors else {}
    for fields in _rows(db, track, split):
        yield _INPUTS[track.task](track, bank, *fields)


def reference_rows(db: Warehouse, track: Track, split: str) -> Iterator[Row]:
    """Give the rows of `reference_output.jsonl`, in the same order."""
    for fields in _rows(db, track, split):
        yield _REFERENCES[track.task](track, *fields)


def _rows(db: Warehouse, track: Track, split: str) -> Iterator[tuple[Any, ...]]:
    sql = {"task1": EXTRACTION, "task2": UPDATES, "task3": RETRIEVAL, "task4": UTILIZATION}[track.task]
    cursor = db.cursor().execute(f"{sql} {OF_TRACK}", {"track": track.name, "split": split})
    while batch := cursor.fetchmany(100):
        yield from batch


def _task1_input(track: Track, bank: Bank, benchmark_id: str, dialogue: object, gold: object) -> Row:
    return {"benchmark_id": benchmark_id, "task": "task1", "input": {"dialogue": dialogue}}


def _task1_reference(track: Track, benchmark_id: str, dialogue: object, gold: object) -> Row:
    return {"benchmark_id": benchmark_id, "task": "task1", "gold": {"memory_items": gold}}


def _task2_input(
    track: Track, bank: Bank, benchmark_id: str, memory: object, old: object, new: object, *gold: object
) -> Row:
    shown = {"memory": memory, "old_dialogue": old, "new_dialogue": new, "query": UPDATE}
    return {"benchmark_id": benchmark_id, "task": "task2", "input": shown}


def _task2_reference(
    track: Track,
    benchmark_id: str,
    memory: object,
    old: object,
    new: object,
    answer: object,
    actions: list[Row],
) -> Row:
    told = {one["memory_id"]: one["action"] for one in actions}
    return {"benchmark_id": benchmark_id, "task": "task2", "gold": {"answer": answer, "actions": told}}


def _task3_input(
    track: Track,
    bank: Bank,
    benchmark_id: str,
    item_id: str,
    query: str,
    memory_id: str,
    value: str,
    label: str,
    distractor_ids: list[str],
    places: list[int],
) -> Row:
    pool = [bank[one] for one in distractor_ids[: track.distractors]]
    key = pool_key(item_id, track.distractors)
    # By a key that is sealed: an order that anybody can tell would show the one that stands out of it.
    pool.sort(key=lambda memory: digest("order", key, *memory))
    pool.insert(places[track.level], (value, label))
    candidates = [
        {"memory_id": candidate_id(key, place), "value": text, "label": of} for place, (text, of) in enumerate(pool)
    ]
    shown = {"query": query, "candidate_memories": candidates}
    return {"benchmark_id": benchmark_id, "task": "task3", "input": shown}


def _task3_reference(
    track: Track,
    benchmark_id: str,
    item_id: str,
    query: str,
    memory_id: str,
    value: str,
    label: str,
    distractor_ids: list[str],
    places: list[int],
) -> Row:
    place = places[track.level]
    chosen = candidate_id(pool_key(item_id, track.distractors), place)
    selected = {"memory_id": chosen, "value": value, "label": label}
    gold = {"selected_memory_id": chosen, "selected_memory": selected}
    return {"benchmark_id": benchmark_id, "task": "task3", "gold": gold}


def _task4_input(
    track: Track,
    bank: Bank,
    benchmark_id: str,
    kind: str,
    query: str,
    answer: object,
    rubric: object,
    turns: object,
    memory: Row,
) -> Row:
    shown = {"selected_memory": _opaque(benchmark_id, memory)} if kind == "PA" else {"dialogue_history": turns}
    return {
        "benchmark_id": benchmark_id,
        "task": "task4",
        "ability": ABILITIES[kind],
        "input": {"model_input": {"query": query, **shown}},
    }


def _task4_reference(
    track: Track,
    benchmark_id: str,
    kind: str,
    query: str,
    answer: str,
    rubric: str,
    turns: object,
    memory: Row,
) -> Row:
    gold = {
        "selected_memory": _opaque(benchmark_id, memory),
        "reference_answer": answer,
        "rubric": rubric,
        "variant": kind,
    }
    return {"benchmark_id": benchmark_id, "task": "task4", "ability": ABILITIES[kind], "gold": gold}


def _opaque(benchmark_id: str, memory: Row) -> Row:
    return memory | {"memory_id": candidate_id(benchmark_id, 0)}


_INPUTS: Mapping[str, Callable[..., Row]] = {
    "task1": _task1_input,
    "task2": _task2_input,
    "task3": _task3_input,
    "task4": _task4_input,
}
_REFERENCES: Mapping[str, Callable[..., Row]] = {
    "task1": _task1_reference,
    "task2": _task2_reference,
    "task3": _task3_reference,
    "task4": _task4_reference,
}
