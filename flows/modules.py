"""The code that a table hangs on: its stage's files, those of the modules that they name, and libraries."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("annotation", "evaluation", "expectations", "llm", "stages")
# Plumbing: what passes through it counts by the knobs, not by how it is carried.
PLUMBING = ("llm.gateway", "llm.errors", "expectations.contract", "stages.beside")

# Another version of these may give other rows.
LIBRARIES = {
    "datasketch": "datasketch",
    "py3langid": "py3langid",
    "rapidfuzz": "rapidfuzz",
    "rensa": "rensa",
    "Stemmer": "pystemmer",
    "stopwordsiso": "stopwordsiso",
}


class Piece(NamedTuple):
    """One thing that a table is made of: its kind, its name there, and what stands for it."""

    kind: str
    name: str
    value: str


def code_of(module: Path) -> list[str]:
    """Return digests of a module's files and of those of the project's modules that it names, in turn.

    And the versions of the libraries among them that decide what a table holds.
    """
    return [piece.value for piece in code_pieces(module, "code")]


def code_pieces(module: Path, kind: str) -> list[Piece]:
    """Return the same with names: paths below the project, and names of libraries."""
    files = sorted(_files(module))
    libraries = {name for file in files if file.suffix == ".py" for name in _libraries(file)}
    return [
        *(Piece(kind, _place(file), _digest(file)) for file in files),
        *(Piece("library", name, f"{name} {version(LIBRARIES[name])}") for name in sorted(libraries)),
    ]


def _place(file: Path) -> str:
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name


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
