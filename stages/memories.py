"""What each dialogue tells of its user: candidates checked by a model, in normal form, with their evidence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from llm.gateway import Model, Outcome, Prompt
from stages.beside import beside
from stages.checks import Candidate, Check, checks_of, smaller_checks
from stages.draws import digest
from stages.evidence import locate
from stages.item import Item
from stages.normal_form import Record, Verdict, Verdicts, Weak, changes_of, memory_of, with_evidence
from stages.rounds import ask_in_rounds, part_of, room_beside
from stages.workers import HERE, Workers, count_of, joined, pieces_of, share_of
from warehouse import Warehouse

PROMPT = Prompt("memories", beside(__file__, ".prompt.md"))
ITEM = Item("candidate_memories", "candidate_id")
TEXTS = (
    *("memory_id", "candidate_id", "dialogue_id", "user_id", "language", "type", "label", "label_suggestion"),
    *("value", "evidence_text", "evidence_way", "emotion", "context", "time_scope", "preference_attitude"),
    *("given_label", "given_type", "extractor", "validator", "drop_reason", "drop_detail"),
)
CHANGE = pa.struct([(name, pa.string()) for name in ("field", "changed_by", "given", "taken")])
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS[:9]),
        ("confidence", pa.float64()),
        ("given_confidence", pa.float64()),
        *((name, pa.int32()) for name in ("evidence_message", "evidence_start", "evidence_end")),
        *((name, pa.string()) for name in TEXTS[9:]),
        ("changes", pa.list_(CHANGE)),
    ]
)
DIALOGUES = """
    with lists as (
        select dialogue_id,
            list(struct_pack(candidate_id := candidate_id, number := number, type := type, label := label,
                label_suggestion := label_suggestion, value := value, confidence := confidence,
                evidence_text := evidence_text, extractor := extractor) order by number) as candidates
        from candidate_memories
        group by dialogue_id
    )
    select dialogue_id, user_id, conversation_hash, language, turns, candidates
    from dialogues
    join lists using (dialogue_id)
"""


def memories(
    db: Warehouse, *, validator: Model, on_assistant: Weak, not_found: Weak, workers: Workers = HERE
) -> pa.Table:
    """One row a memory, with the span of a user message that it rests on.

    Dropped: what the validator rejects, what has no evidence among the user's words (where the knobs do not have it
    downgraded), what is said twice, and the debris of broken tools. A dialogue that is too long for the validator is
    checked in windows, each candidate in one of them.
    """
    validator.expected = count_of(db, "(select distinct dialogue_id from candidate_memories)")
    pieces = pieces_of(db, DIALOGUES, share_of(validator.at_once, validator.expected, workers))
    knobs = {"validator": validator, "on_assistant": on_assistant, "not_found": not_found}
    return joined(workers.each(check_dialogues, pieces, **knobs), COLUMNS, "dialogue_id")


def check_dialogues(piece: pa.Table, *, validator: Model, on_assistant: Weak, not_found: Weak) -> pa.Table:
    """Check the candidates of some of the dialogues."""
    rows = [tuple(row.values()) for row in piece.to_pylist()]
    room = room_beside(validator, PROMPT, Verdicts, {"language": "", "dialogue": [], "candidates": []})
    found = [[Candidate(row, locate(row["evidence_text"], turns)) for row in rows_of] for *_, turns, rows_of in rows]
    checks = [
        checks_of(Check(hash, language, (), tuple(candidates)), turns, room)
        for (_, _, hash, language, turns, _), candidates in zip(rows, found, strict=True)
    ]
    answers = ask_in_rounds(validator, PROMPT, Verdicts, checks, smaller_checks)
    records: list[Record] = []
    for (dialogue_id, user_id, _, language, turns, _), answered in zip(rows, answers, strict=True):
        of_dialogue = {
            "dialogue_id": dialogue_id,
            "user_id": user_id,
            "language": language,
            "validator": validator.name,
        }
        judged = sorted(_judged(answered), key=lambda one: one[0].row["number"])
        made = [of_dialogue | _record(*one, turns, on_assistant, not_found) for one in judged]
        records += _once(made)
    return pa.Table.from_pylist(records, schema=COLUMNS)


def _judged(answered: Sequence[tuple[Check, Outcome[Verdicts]]]) -> Iterator[tuple[Candidate, Verdict | Record]]:
    """Give each candidate with its verdict, or with the reason why it has none."""
    for part, (check, outcome) in enumerate(answered, 1):
        verdicts = outcome.answer.memories if outcome.answer else []
        reason: str = outcome.status if outcome.answer is None else "validator_changed_the_list"
        drop = {"drop_reason": reason, "drop_detail": part_of(part, len(answered), outcome.detail)}
        is_whole = [one.number for one in verdicts] == [one.row["number"] for one in check.candidates]
        for place, candidate in enumerate(check.candidates):
            yield candidate, verdicts[place] if is_whole else drop


def _record(
    candidate: Candidate,
    verdict: Verdict | Record,
    turns: Sequence[Mapping[str, str]],
    on_assistant: Weak,
    not_found: Weak,
) -> Record:
    row = candidate.row
    given = {"given_label": row["label"], "given_type": row["type"], "given_confidence": row["confidence"]}
    record = {"candidate_id": row["candidate_id"], "extractor": row["extractor"], **given}
    if not isinstance(verdict, Verdict):
        return record | verdict
    memory = memory_of(verdict)
    if not memory.get("drop_reason"):
        memory = with_evidence(memory, candidate.span, turns, on_assistant=on_assistant, not_found=not_found)
        memory["changes"] = list(changes_of(row, verdict, memory))
    return record | memory


def _once(records: Iterable[Record]) -> Iterator[Record]:
    """Number the memories of a dialogue by what they say; what is said again is dropped."""
    seen: set[str] = set()
    for record in records:
        # With the user, whose id is made with a secret: else anybody could work out ids from WildChat itself.
        parts = record["user_id"], record["dialogue_id"], record.get("label"), record.get("value")
        record["memory_id"] = "m" + digest(*parts)[:16]
        if not record.get("drop_reason"):
            if record["memory_id"] in seen:
                record["drop_reason"] = "repeated_in_dialogue"
            seen.add(record["memory_id"])
        yield record
