"""`alpsbench trace`: follows one id back to the line of the source that it comes from."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from flows.look import printable, published
from warehouse import BadInputError, Home, Warehouse

AROUND_CHARACTERS = 160
"""How much of a message is shown on either side of the evidence."""


class Found(NamedTuple):
    """The ids behind the one asked for, as far as it leads."""

    item_id: str | None
    memory_id: str | None
    dialogue_id: str


# From the most to the least particular kind of id; each gives a Found.
FINDERS = {
    "release_rows": """
        select item_id, memory_id, dialogue_id from release_rows where $id in (benchmark_id, item_id, target_id)
    """,
    "memories": "select null, memory_id, dialogue_id from memories where $id in (memory_id, candidate_id)",
    "conversations": """
        select null, null, dialogue_id from conversations
        where $id in (dialogue_id, conversation_hash, source_row) order by source_row
    """,
}
ITEM = "select benchmark_id, kind, split from release_rows where item_id = $id order by track"
QUERY = """
    select query from retrieval_items where item_id = $id
    union all
    select query from utilization_items where item_id = $id
"""
MEMORY = """
    select memories.*, turns[evidence_message + 1]."text" as message
    from memories
    join dialogues using (dialogue_id)
    where memory_id = $id
"""
CONVERSATIONS = "from conversations where dialogue_id = $dialogue order by source_row = $id desc, source_row"
KEPT = "select source_row from dialogues where dialogue_id = $dialogue"
DROPS = "select distinct stage, reason, detail from dropped where item in ($id, $dialogue, $row)"
Facts = Iterator[tuple[str, str]]


def show_trace(console: Console, home: Home, id: str) -> None:
    """Show the item, its query, the memory, the message that it rests on, the conversation, its shard and row.

    Raises:
        BadInputError: no table knows the id.
    """
    grid = Grid.grid(padding=(0, 2))
    with published(home) as db:
        for name, value in _facts(db, id):
            grid.add_row(f"[bold]{name}[/]", escape(printable(value)))
    console.print(grid)


def _facts(db: Warehouse, id: str) -> Facts:
    found = _find(db, id)
    if found and found.item_id:
        yield from _item(db, found.item_id)
    if found and found.memory_id:
        yield from _memory(db, found.memory_id)
    row = _row(db, id, found.dialogue_id) if found else {}
    if found:
        yield from _conversation(row)
    names = {"id": id, "dialogue": found.dialogue_id if found else id, "row": row.get("source_row", id)}
    drops = db.execute(DROPS, names).fetchall()
    for stage, reason, detail in drops:
        yield "dropped", f"by {stage}: {reason}{f' ({detail})' if detail else ''}"
    if not found and not drops:
        raise BadInputError(f"no item, memory, dialogue or dropped row has the id {id}")


def _find(db: Warehouse, id: str) -> Found | None:
    tables = _tables(db)
    for table, finder in FINDERS.items():
        if table in tables and (row := db.execute(f"{finder} limit 1", {"id": id}).fetchone()):
            return Found(*row)
    return None


def _item(db: Warehouse, item_id: str) -> Facts:
    rows = db.execute(ITEM, {"id": item_id}).fetchall()
    yield "item", f"{item_id}: {rows[0][1]}, split {rows[0][2]}"
    yield "rows", ", ".join(benchmark_id for benchmark_id, *_ in rows)
    for (query,) in db.execute(QUERY, {"id": item_id}).fetchall():
        yield "query", query


def _memory(db: Warehouse, memory_id: str) -> Facts:
    [memory] = _records(db.execute(MEMORY, {"id": memory_id}))
    yield "memory", memory["value"]
    yield "", f"{memory_id}: {memory['label']}, {memory['type']}, {memory['confidence']:.2f}, {memory['context']}"
    yield "", f"found by {memory['extractor']}, checked by {memory['validator']}"
    if memory["message"] is None:
        yield "evidence", "nobody said what the extractor quoted"
        return
    start, end, text = memory["evidence_start"], memory["evidence_end"], memory["message"]
    before, after = text[:start], text[end:]
    shown = f"{before[-AROUND_CHARACTERS:]}»{text[start:end]}«{after[:AROUND_CHARACTERS]}"
    yield "evidence", f"message {memory['evidence_message']}, characters {start} to {end} ({memory['evidence_way']})"
    yield "", f"{'…' * (len(before) > AROUND_CHARACTERS)}{shown}{'…' * (len(after) > AROUND_CHARACTERS)}"


def _row(db: Warehouse, id: str, dialogue_id: str) -> dict[str, Any]:
    """Return the row of the source that is meant: that of the id, or of rows that repeat one another the kept one."""
    rows = _records(db.execute(CONVERSATIONS, {"dialogue": dialogue_id, "id": id}))
    if rows[0]["source_row"] == id or "dialogues" not in _tables(db):
        return rows[0]
    kept = db.execute(KEPT, {"dialogue": dialogue_id}).fetchone()
    return next((row for row in rows if kept == (row["source_row"],)), rows[0])


def _conversation(row: dict[str, Any]) -> Facts:
    yield (
        "conversation",
        f"{row['dialogue_id']}: {row['messages']} messages, {row['language']}, ended {row['ended_at']}",
    )
    yield "", f"hash {row['conversation_hash']}, user {row['user_id']}"
    yield "source", f"shard {row['shard']}, row {row['row']} (the first is 0)"


def _tables(db: Warehouse) -> set[str]:
    return {name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall()}


def _records(cursor: Warehouse) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
