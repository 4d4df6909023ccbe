"""Scores the offline rules on task 1: real dialogues against the memories that annotators kept.

Prints the mean over dialogues of the matching score, the same against another dialogue's gold (the level of
chance), and the same for the recorded answers of a language model.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from evaluation.matching import Memory, match
from llm.answers import AnswerError, read_answer
from llm.offline.extraction import extract
from llm.offline.validation import validate
from stages.candidate_memories import MemoryItems, numbered
from stages.languages import language_of

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "alps"
MODELS = ("deepseek-reasoner", "llama-4-maverick")
Found = Mapping[str, Sequence[Memory]]


def main() -> None:
    """Print the table."""
    db = duckdb.connect()
    sessions = rows(db, "dialogues", "session_id, conversation_hash, turns")
    gold = defaultdict(list)
    for session, *memory in rows(db, "gold_memories", "session_id, type, label, value, confidence"):
        gold[session].append(Memory(*memory))
    found: dict[str, Found] = {"offline-rules": {session: offline(turns) for session, _, turns in sessions}}
    for model in MODELS:
        answers = dict(rows(db, "recordings", "subject, answer", f"model = '{model}'"))
        found[model] = {session: recorded(answers.get(subject)) for session, subject, _ in sessions}
    order = sorted(session for session, *_ in sessions)
    others = dict(zip(order, [*order[1:], order[0]], strict=True))
    print(f"{'model':20} {'score':>6} {'chance':>7} {'items':>6}   mean over {len(order):,} dialogues")
    for model, memories in found.items():
        score = mean(match(memories[session], gold[session]).score for session in order)
        chance = mean(match(memories[session], gold[others[session]]).score for session in order)
        items = mean(len(memories[session]) for session in order)
        print(f"{model:20} {score:6.2f} {chance:7.2f} {items:6.2f}")


def rows(db: duckdb.DuckDBPyConnection, name: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    """Read columns of one of the shared files."""
    return db.execute(
        f"select {columns} from read_parquet($path) where {where}", {"path": f"{SHARED}/{name}.parquet"}
    ).fetchall()


def offline(turns: list[dict[str, str]]) -> list[Memory]:
    """Extract and validate by rules; keep what is about the user and not rejected."""
    shown = {"dialogue": numbered(turns), "language": language_of(" ".join(turn["text"] for turn in turns[:8])[:4000])}
    candidates = [{"number": number, **item} for number, item in enumerate(extract(shown)["memory_items"])]
    verdicts = validate({**shown, "candidates": candidates})["memories"]
    kept = (one for one in verdicts if one["confidence"] > 0.10 and one["context"] == "self")
    return [Memory(one["type"], one["label"], one["value"], one["confidence"]) for one in kept]


def recorded(answer: str | None) -> list[Memory]:
    """Read a recorded answer; none, or one that cannot be read, has no memories."""
    try:
        items = read_answer(answer or "", MemoryItems).memory_items
    except AnswerError:
        return []
    return [Memory(item.type, item.label or "UNMAPPED", item.value, item.confidence) for item in items]


def mean(values: Any) -> float:
    """Return the mean."""
    found = list(values)
    return sum(found) / len(found)


if __name__ == "__main__":
    main()
