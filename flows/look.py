"""Looks at what is published: by SQL, by following one id back to its source, by attacking a release."""

from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from warehouse import BadInputError, Home, Warehouse, connect

MAXIMUM_ROWS = 1000
CELL_CHARACTERS = 200
VERDICTS = {"passed": "[green]passed[/]", "failed": "[red]failed[/]", "not_measured": "[yellow]not measured[/]"}


def published(home: Home) -> Warehouse:
    """Open the published file.

    Raises:
        BadInputError: nothing is published in the home.
    """
    if not home.published.exists():
        raise BadInputError(f"nothing is built in {home.root} yet: run alpsbench build, or give --home")
    return connect(home.published, read_only=True)


def show_query(console: Console, home: Home, query: str) -> None:
    """Show the rows of a query, the first of them when there are many.

    Raises:
        BadInputError: it is no SQL, or names what is not there.
    """
    with published(home) as db:
        try:
            cursor = db.execute(query)
            rows = cursor.fetchmany(MAXIMUM_ROWS + 1)
        except duckdb.Error as error:
            raise BadInputError(str(error)) from None
        names = [column[0] for column in cursor.description or ()]
    show_rows(console, names, rows[:MAXIMUM_ROWS])
    if len(rows) > MAXIMUM_ROWS:
        console.print(f"[dim]the first {MAXIMUM_ROWS:,} rows; add a limit, or open {home.published}[/]")


def show_rows(console: Console, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Show rows as a table; texts are cut and escaped, numbers stand right."""
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for position, name in enumerate(names):
        numbers = all(isinstance(row[position], int | float) for row in rows if row[position] is not None)
        grid.add_column(escape(name), justify="right" if numbers and rows else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(_cell(value) for value in row))
    console.print(grid)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = "".join(one if one.isprintable() else " " for one in text[:CELL_CHARACTERS])
    return escape(shown + ("…" if len(text) > CELL_CHARACTERS else ""))


# From the most to the least particular id: where it is found, and how it leads on to the others.
FINDERS = (
    ("release_rows", "benchmark_id", "select item_id, memory_id, dialogue_id from release_rows where benchmark_id = $id"),
    ("release_rows", "item_id", "select item_id, memory_id, dialogue_id from release_rows where item_id = $id limit 1"),
    ("memories", "memory_id", "select null, memory_id, dialogue_id from memories where memory_id = $id"),
    ("dialogues", "dialogue_id", "select null, null, dialogue_id from dialogues where dialogue_id = $id"),
    ("conversations", "dialogue_id", "select null, null, dialogue_id from conversations where dialogue_id = $id limit 1"),
)
ITEM = """
    select track, split, benchmark_id, kind from release_rows where item_id = $id order by track
"""
QUERY = """
    select query from (select item_id, query from retrieval_items union all select item_id, query from utilization_items)
    where item_id = $id
"""
MEMORY = "select * from memories where memory_id = $id"
EVIDENCE = 'select turns[evidence_message + 1]."text" from memories join dialogues using (dialogue_id) where memory_id = $id'
CONVERSATION = """
    select conversation_hash, user_id, language, messages, ended_at, shard, row, source_row
    from conversations where dialogue_id = $id
"""
DROPS = "select stage, reason, detail from dropped where item = $id or item = $row"


def show_trace(console: Console, home: Home, id: str) -> None:
    """Show the item, its query, the memory, the message that it rests on, the conversation, shard and row.

    Raises:
        BadInputError: no table knows the id.
    """
    with published(home) as db:
        item_id, memory_id, dialogue_id = _find(db, id)
        grid = Grid.grid(padding=(0, 2))
        for name, value in _facts(db, id, item_id, memory_id, dialogue_id):
            grid.add_row(f"[bold]{name}[/]", escape("".join(c if c.isprintable() or c == "\n" else " " for c in str(value))))
        console.print(grid)


def _find(db: Warehouse, id: str) -> tuple[str | None, str | None, str | None]:
    tables = {name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall()}
    for table, _, finder in FINDERS:
        if table in tables and (found := db.execute(finder, {"id": id}).fetchone()):
            return found
    if db.execute("select 1 from dropped where item = $id", {"id": id}).fetchone():
        return None, None, None
    raise BadInputError(f"no item, memory or dialogue has the id {id}")


def _facts(
    db: Warehouse, id: str, item_id: str | None, memory_id: str | None, dialogue_id: str | None
) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = []
    if item_id:
        rows = db.execute(ITEM, {"id": item_id}).fetchall()
        facts.append(("item", f"{item_id} ({rows[0][3]}, split {rows[0][1]})"))
        facts.append(("rows", ", ".join(row[2] for row in rows)))
        if query := db.execute(QUERY, {"id": item_id}).fetchone():
            facts.append(("query", query[0]))
    if memory_id:
        cursor = db.execute(MEMORY, {"id": memory_id})
        names = [column[0] for column in cursor.description or ()]
        memory = dict(zip(names, cursor.fetchone() or (), strict=True))
        facts.append(("memory", f"{memory['value']}"))
        facts.append(("", f"{memory_id}: {memory['label']}, {memory['type']}, confidence {memory['confidence']:g}, "
                      f"context {memory['context']}, by {memory['extractor']} and {memory['validator']}"))  # fmt: skip
        message = db.execute(EVIDENCE, {"id": memory_id}).fetchone()
        facts.append(("evidence", f"message {memory['evidence_message']}, characters {memory['evidence_start']} to "
                      f"{memory['evidence_end']}, found {memory['evidence_way']}"))  # fmt: skip
        facts.append(("", _around(message[0] if message else "", memory["evidence_start"], memory["evidence_end"])))
    source_row = None
    if dialogue_id and (found := db.execute(CONVERSATION, {"id": dialogue_id}).fetchone()):
        hash, user_id, language, messages, ended_at, shard, row, source_row = found
        facts.append(("conversation", f"{dialogue_id}: {messages} messages, {language}, ended {ended_at:%Y-%m-%d %H:%M}"))
        facts.append(("", f"hash {hash}, user {user_id}"))
        facts.append(("source", f"shard {shard}, row {row} (counted from 0)"))
    for stage, reason, detail in db.execute(DROPS, {"id": id, "row": source_row}).fetchall():
        facts.append(("dropped", f"by {stage}: {reason}" + (f" ({detail})" if detail else "")))
    return facts


def _around(text: str, start: int, end: int, characters: int = 120) -> str:
    before, after = text[max(0, start - characters) : start], text[end : end + characters]
    cut_before, cut_after = start > characters, len(text) > end + characters
    return f"{'… ' if cut_before else ''}{before}»{text[start:end]}«{after}{' …' if cut_after else ''}"


def show_audit(console: Console, home: Home, version: str) -> None:
    """Show every gate of a release; raise GateError where one fails."""
    from evaluation.gates import Facts, audit
    from evaluation.released import open_release
    from flows.recipe import read_recipe
    from flows.run import GateError

    folder = Path(version) if Path(version).is_dir() else home.releases / version
    release = open_release(folder)
    recipe = read_recipe(folder / "public" / "recipe.toml")
    facts = Facts(
        item_ids=None,
        maximum_words=recipe.leaks.maximum_words,
        maximum_share=recipe.leaks.maximum_share,
        verified_share=0.0,
        auditor_is_rules=recipe.models.auditor.name == "offline",
    )
    gates = audit(release, facts)
    names = ["gate", "track", "verdict", "figure", "bound", "of", "chance"]
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name in names:
        grid.add_column(name, justify="right" if name in names[3:] else "left")
    for gate in gates:
        figures = ("" if one is None else f"{one:,}" for one in (gate.figure, gate.bound, gate.of))
        chance = "" if gate.chance is None else f"{gate.chance:.2%}"
        grid.add_row(gate.gate, gate.track, VERDICTS[gate.verdict], *figures, chance)
    console.print(grid)
    if failed := [gate for gate in gates if gate.verdict == "failed"]:
        told = (f"{gate.gate} of {gate.track}: {', '.join(gate.rows)}" for gate in failed)
        raise GateError(f"{len(failed)} gates failed: {'; '.join(told)}")
    console.print(f"\n{sum(gate.verdict == 'passed' for gate in gates)} gates passed, none failed.")
