"""The rows of a release: what a system sees of an item, and what is held against its answer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evaluation.tracks import ABILITIES, Track
from stages.beside import beside
from stages.draws import digest
from stages.fair_draws import candidate_id
from stages.retrieval_items import pool_key
from warehouse import Warehouse, another

Row = dict[str, Any]
Bank = Mapping[str, tuple[str, str]]
"""Value and label of each memory that may be a distractor."""
UPDATE = beside(__file__, ".prompt.md").strip()
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
        confidence := target.confidence, evidence_text := evidence_text) as memory
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
    for item in _items(db, track, split):
        yield _envelope(track, item) | {"input": _INPUTS[track.task](item, track, bank)}


def reference_rows(db: Warehouse, track: Track, split: str) -> Iterator[Row]:
    """Give the rows of `reference_output.jsonl`, in the same order."""
    for item in _items(db, track, split):
        yield _envelope(track, item) | {"gold": _GOLD[track.task](item, track)}


def _items(db: Warehouse, track: Track, split: str) -> Iterator[Row]:
    sql = {"task1": EXTRACTION, "task2": UPDATES, "task3": RETRIEVAL, "task4": UTILIZATION}[track.task]
    cursor = another(db).execute(f"{sql} {OF_TRACK}", {"track": track.name, "split": split})
    names = [column[0] for column in cursor.description or ()]
    while batch := cursor.fetchmany(100):
        yield from (dict(zip(names, row, strict=True)) for row in batch)


def _envelope(track: Track, item: Row) -> Row:
    ability = {"ability": ABILITIES[item["ability"]]} if track.task == "task4" else {}
    return {"benchmark_id": item["benchmark_id"], "task": track.task, **ability}


def _extraction_input(item: Row, track: Track, bank: Bank) -> Row:
    return {"dialogue": item["dialogue"]}


def _extraction_gold(item: Row, track: Track) -> Row:
    return {"memory_items": item["gold"]}


def _update_input(item: Row, track: Track, bank: Bank) -> Row:
    dialogues = {"old_dialogue": item["turns"], "new_dialogue": item["new_dialogue"]}
    return {"memory": item["memory"], **dialogues, "query": UPDATE}


def _update_gold(item: Row, track: Track) -> Row:
    actions = {one["memory_id"]: one["action"] for one in item["actions"]}
    return {"answer": item["answer"], "actions": actions}


def _retrieval_input(item: Row, track: Track, bank: Bank) -> Row:
    pool = [bank[one] for one in item["distractor_ids"][: track.distractors]]
    key = pool_key(item["item_id"], track.distractors)
    # By a key that is sealed: an order that anybody can tell would show the one that stands out of it.
    pool.sort(key=lambda memory: digest("order", key, *memory))
    pool.insert(item["places"][track.level], (item["value"], item["label"]))
    candidates = [
        {"memory_id": candidate_id(key, place), "value": value, "label": label}
        for place, (value, label) in enumerate(pool)
    ]
    return {"query": item["query"], "candidate_memories": candidates}


def _retrieval_gold(item: Row, track: Track) -> Row:
    chosen = candidate_id(pool_key(item["item_id"], track.distractors), item["places"][track.level])
    selected = {"memory_id": chosen, "value": item["value"], "label": item["label"]}
    return {"selected_memory_id": chosen, "selected_memory": selected}


def _utilization_input(item: Row, track: Track, bank: Bank) -> Row:
    if item["ability"] == "PA":
        return {"model_input": {"query": item["query"], "selected_memory": _opaque(item)}}
    return {"model_input": {"query": item["query"], "dialogue_history": item["turns"]}}


def _utilization_gold(item: Row, track: Track) -> Row:
    return {
        "selected_memory": _opaque(item),
        "reference_answer": item["reference_answer"],
        "rubric": item["rubric"],
        "variant": item["ability"],
    }


def _opaque(item: Row) -> Row:
    """Return the item's memory under an id that means nothing anywhere else."""
    return {**item["memory"], "memory_id": candidate_id(item["benchmark_id"], 0)}


_INPUTS: Mapping[str, Callable[[Row, Track, Bank], Row]] = {
    "task1": _extraction_input,
    "task2": _update_input,
    "task3": _retrieval_input,
    "task4": _utilization_input,
}
_GOLD: Mapping[str, Callable[[Row, Track], Row]] = {
    "task1": _extraction_gold,
    "task2": _update_gold,
    "task3": _retrieval_gold,
    "task4": _utilization_gold,
}
