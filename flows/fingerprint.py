"""Identifies what a table is made of: the stage's files, the modules they name, the knobs, the tables read."""

import ast
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from warehouse import Table

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("annotation", "evaluation", "expectations", "llm", "stages")
# Plumbing: what passes through it counts by the knobs, not by how it is carried.
PLUMBING = ("llm.gateway", "llm.ledger", "llm.errors", "expectations.contract", "stages.beside")

# Another version of these may give other rows.
LIBRARIES = {
    "datasketch": "datasketch",
    "py3langid": "py3langid",
    "rensa": "rensa",
    "Stemmer": "pystemmer",
    "stopwordsiso": "stopwordsiso",
}


def fingerprint(stage: Callable[..., object], reads: Sequence[Table], knobs: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits for all that the stage's table depends on.

    A knob counts by its value or, where it has one, by its `identity`.

    Raises:
        TypeError: a knob is of a type whose value does not stand still.
    """
    contract = ROOT / "expectations" / f"{stage.__name__}.py"
    parts = [
        code_of(Path(inspect.getfile(stage)).resolve()),
        code_of(contract) if contract.exists() else None,
        [(table.name, table.fingerprint) for table in reads],
        {name: _plain(knob) for name, knob in knobs.items()},
    ]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_of(module: Path) -> list[str]:
    """Return digests of a module's files and of those of the project's modules that it names, in turn.

    And the versions of the libraries among them that decide what a table holds.
    """
    files = sorted(_files(module))
    libraries = {name for file in files if file.suffix == ".py" for name in _libraries(file)}
    return [*map(_digest, files), *(f"{name} {version(LIBRARIES[name])}" for name in sorted(libraries))]


def _files(module: Path) -> set[Path]:
    found, todo = set[Path](), [module]
    while todo:
        path = todo.pop()
        if path not in found:
            found |= {path, *path.parent.glob(f"{path.stem}.*")}
            todo += _named(path)
    return {path for path in found if path.is_file()}


@cache
def _libraries(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name.split(".")[0] for node in ast.walk(tree) for name in _imports(node)}
    return frozenset(names & LIBRARIES.keys())


@cache
def _named(path: Path) -> tuple[Path, ...]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name for node in ast.walk(tree) for name in _imports(node)}
    wanted = (name for name in names if name.split(".")[0] in PARTS and name not in PLUMBING)
    places = (ROOT.joinpath(*name.split(".")) for name in wanted)
    paths = (path for place in places for path in (place.with_suffix(".py"), place / "__init__.py"))
    return tuple(path for path in paths if path.exists())


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)  # each may be a module


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _plain(knob: object) -> object:
    if hasattr(knob, "identity"):
        return _plain(knob.identity)
    if isinstance(knob, BaseModel):
        return _plain(knob.model_dump())
    if knob is None or isinstance(knob, bool | int | float | str):
        return knob
    if isinstance(knob, list | tuple):
        return [_plain(one) for one in knob]
    if isinstance(knob, Mapping):
        return {str(name): _plain(one) for name, one in knob.items()}
    raise TypeError(f"a knob of type {type(knob).__name__} has no value that stands still")
