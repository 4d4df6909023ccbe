"""Looks at what is published by SQL, and attacks a release again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from evaluation.gates import Facts, audit
from evaluation.released import open_release
from evaluation.verdicts import Gate, counted, raise_if_failed
from flows.recipe_file import read_recipe
from flows.release_files import hashes_of
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
        BadInputError: it is empty or no SQL, or names what is not there.
    """
    with published(home) as db:
        try:
            if not db.extract_statements(query):
                raise BadInputError("the query is empty")
            cursor = db.execute(query)
            rows = cursor.fetchmany(MAXIMUM_ROWS + 1)
        except duckdb.Error as error:
            raise BadInputError(str(error).splitlines()[0]) from None
        names = [column[0] for column in cursor.description or ()]
    console.print(grid_of(names, rows[:MAXIMUM_ROWS]))
    if len(rows) > MAXIMUM_ROWS:
        console.print(f"[dim]the first {MAXIMUM_ROWS:,} rows; add a limit, or open {home.published}[/]")


def grid_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """Return rows as a table; texts are cut and escaped, numbers stand right."""
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for position, name in enumerate(names):
        values = [row[position] for row in rows if row[position] is not None]
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        grid.add_column(escape(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(_cell(value) for value in row))
    return grid


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    shown = printable(text[:CELL_CHARACTERS])
    return escape(shown + ("…" if len(text) > CELL_CHARACTERS else ""))


def printable(text: str) -> str:
    """Return a text with nothing in it that could move the cursor of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def show_audit(console: Console, home: Home, version: str) -> None:
    """Show every gate of a release.

    Raises:
        BadInputError: there is no such release.
        GateError: a gate fails; it names the rows.
    """
    folder = home.releases / version if (home.releases / version).is_dir() else Path(version)
    release = open_release(folder)
    recipe = read_recipe(folder / "public" / "recipe.toml")
    facts = Facts(
        item_ids=None,
        limits=recipe.leaks.limits,
        verified_share=None,
        auditor_leaks=None,
    )
    gates = [files_unchanged(folder), *audit(release, facts)]
    console.print(_gates(gates))
    raise_if_failed(gates)
    measured = sum(gate.verdict != "not_measured" for gate in gates)
    console.print(f"\nall {measured} gates that were measured passed, {len(gates) - measured} were not measured")


def files_unchanged(folder: Path) -> Gate:
    """Compare every file of a release with the hash that its manifest has of it."""
    manifest = json.loads((folder / "public" / "manifest.json").read_text(encoding="utf-8"))
    changed, total = [], 0
    for side in ("public", "sealed"):
        there, promised = hashes_of(folder / side), manifest.get(side, {})
        total += len(promised)
        changed += [f"{side}/{name}" for name in {*there, *promised} if there.get(name) != promised.get(name)]
    return counted("files_as_in_manifest", changed, total)


def _gates(gates: Sequence[Gate]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for title in ("gate", "track", "verdict"):
        grid.add_column(title)
    for title in ("figure", "bound", "of", "chance"):
        grid.add_column(title, justify="right")
    grid.add_column("why", overflow="fold")
    for gate in gates:
        figures = ("" if one is None else f"{one:,}" for one in (gate.figure, gate.bound, gate.of))
        chance = "" if gate.chance is None else f"{gate.chance:.2%}"
        grid.add_row(gate.gate, gate.track, VERDICTS[gate.verdict], *figures, chance, gate.detail or "")
    return grid
