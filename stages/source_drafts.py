"""Writes a file whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes `path` at the end; two processes may do the same at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid4().hex}.partial")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
