"""A tiny release on disk that withstands every gate, for tests to plant one fault in."""

import hashlib
import json
from typing import Any

import pytest

from evaluation.gates import Facts, audit
from evaluation.leaks import Limits
from evaluation.released import Release, open_release
from evaluation.tracks import ABILITIES, tracks_of

DISTRACTORS = (9, 19)
ROWS = {"examples": 1, "dev": 4, "validation": 4, "test": 11}
"""How many rows each track has in each split."""
STATE = 5
"""How many memories task 2 shows."""
PLACES = [split for split, rows in ROWS.items() for _ in range(rows)]
FACTS = Facts(item_ids=None, limits=Limits(2, 0.5), verified_share=1.0, auditor_leaks=frozenset())


def digits(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def memory(*parts, length=8):
    """Return a memory whose value and ids nobody else's has; `length` is that of the value's own word."""
    text = digits("value", *parts)[:length]
    return {
        "memory_id": "m" + digits("memory", *parts)[:16],
        "type": "direct",
        "label": "Preferences/Food",
        "value": f"Keeps {text}",
        "confidence": 0.95,
        "evidence_text": f"I keep {text}",
    }


def messages(*parts):
    return [{"role": "user", "text": f"Good day {digits(*parts)[:6]}"}, {"role": "assistant", "text": "Good day."}]


def task1(track, number):
    memories = [memory("task1", number, one) for one in range(2)]
    return {"dialogue": messages("task1", number)}, {"memory_items": memories}


def task2(track, number):
    before = [memory("task2", number, one) for one in range(STATE)]
    changed = before[(number * 3 + 1) % STATE]
    after = {**changed, "memory_id": changed["memory_id"] + "_updated", "value": changed["value"] + " no more"}
    added = memory("task2", number, "added")
    actions = {one["memory_id"]: "Retention" for one in before if one is not changed}
    actions |= {after["memory_id"]: "Modification", added["memory_id"]: "Addition"}
    shown = {"memory": before, "old_dialogue": messages(number, "old"), "new_dialogue": messages(number, "new")}
    answer = [after if one is changed else one for one in before] + [added]
    return {**shown, "query": "Bring them up to date."}, {"answer": answer, "actions": actions}


def task3(track, number):
    size = track.distractors + 1
    gold = (number * 3 + 1) % size
    # The right one is neither the longest nor the shortest.
    pool = [memory(track.name, number, one, length=8 if one == gold else 6 + one % 5) for one in range(size)]
    pool = [{name: one[name] for name in ("memory_id", "value", "label")} for one in pool]
    chosen = {"selected_memory_id": pool[gold]["memory_id"], "selected_memory": dict(pool[gold])}
    return {"query": "What would suit me tonight?", "candidate_memories": pool}, chosen


def task4(track, number):
    kind = track.kinds[number % len(track.kinds)]
    selected = memory("task4", kind, number)
    history = {"selected_memory": selected} if kind == "PA" else {"dialogue_history": messages(kind, number)}
    answer = {"reference_answer": f"Then take {digits(kind, number)[:8]}.", "rubric": "Takes it.", "variant": kind}
    return (
        {"model_input": {"query": "What would suit me tonight?", **history}},
        {"selected_memory": dict(selected), **answer},
    )


class Draft:
    """A release to be: change `inputs`, `references` (by split and track) or `key`, then write or audit it."""

    def __init__(self, folder):
        self.folder = folder
        self.tracks = {track.name: track for track in tracks_of(DISTRACTORS)}
        self.inputs: dict[tuple[str, str], list[Any]] = {(split, name): [] for split in ROWS for name in self.tracks}
        self.references: dict[tuple[str, str], list[Any]] = {
            (split, name): [] for split in ROWS for name in self.tracks
        }
        self.key: list[dict[str, Any]] = []
        for track in self.tracks.values():
            for number, split in enumerate(PLACES):
                self._add(track, split, number)

    def _add(self, track, split, number):
        shown, gold = {"task1": task1, "task2": task2, "task3": task3, "task4": task4}[track.task](track, number)
        row = {"benchmark_id": f"{track.name}-{digits(track.name, number)[:12]}", "task": track.task}
        if track.task == "task4":
            row["ability"] = ABILITIES[gold["variant"]]
        self.inputs[split, track.name].append({**row, "input": shown})
        self.references[split, track.name].append({**row, "gold": gold})
        item = digits(track.task, track.kinds, number)[:16]  # one item of task 3 has a row in each of its tracks
        ids = {f"{name}_id": f"{name[0]}{item}" for name in ("item", "target", "dialogue", "memory", "user", "group")}
        key = {"benchmark_id": row["benchmark_id"], "track": track.name, "split": split, **ids}
        self.key.append({**key, "kind": track.kinds[0], "evidence_text": "I keep it", "language": "English"})

    def row(self, split, track, number=0):
        """Return one row as it stands in inputs, references and key."""
        shown, gold = self.inputs[split, track][number], self.references[split, track][number]
        return shown, gold, self.behind(shown["benchmark_id"])

    def behind(self, benchmark_id):
        return next(row for row in self.key if row["benchmark_id"] == benchmark_id)

    def pools(self, track):
        """Give the candidates of each row of a track, the place of the right one, and the row's gold."""
        for split in ROWS:
            for shown, row in zip(self.inputs[split, track], self.references[split, track], strict=True):
                pool, gold = shown["input"].get("candidate_memories") or shown["input"]["memory"], row["gold"]
                chosen = gold.get("selected_memory_id") or next(
                    one for one, action in gold["actions"].items() if action == "Modification"
                ).removesuffix("_updated")
                yield pool, [one["memory_id"] for one in pool].index(chosen), gold

    def write(self):
        """Write all files; give the folder."""
        for (split, name), rows in self.inputs.items():
            place = self.tracks[name].folder
            self._write(f"public/{split}/{place}/model_input.jsonl", rows)
            side = "sealed" if split == "test" else "public"
            self._write(f"{side}/{split}/{place}/reference_output.jsonl", self.references[split, name])
        self._write("sealed/key.jsonl", self.key)
        tracks = [{"task": track.task, "distractors": track.distractors} for track in self.tracks.values()]
        (self.folder / "public" / "manifest.json").write_text(json.dumps({"tracks": tracks}))
        return self.folder

    def _write(self, path, rows):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def release(self) -> Release:
        return open_release(self.write())

    @property
    def item_ids(self):
        return frozenset(row["item_id"] for row in self.key)

    def audit(self, item_ids=None):
        """Put the release to every gate; `item_ids` are those of the warehouse, by default the release's own."""
        facts = Facts(item_ids or self.item_ids, FACTS.limits, FACTS.verified_share, FACTS.auditor_leaks)
        return audit(self.release(), facts)

    def failed(self, item_ids=None):
        """Return the failed gates by name and track, with the rows that they name."""
        return {(gate.gate, gate.track): gate.rows for gate in self.audit(item_ids) if gate.verdict == "failed"}


@pytest.fixture
def draft(tmp_path):
    return Draft(tmp_path / "1.0")
