"""Reads a release from disk: its rows as anybody finds them, and the key to them if it is there."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from evaluation.tracks import HELD_OUT, INPUT, REFERENCE, SPLITS, Track, tracks_of
from warehouse import BadInputError

Row = dict[str, Any]


@dataclass(frozen=True)
class Release:
    """A folder with `public/` and, where its maker looks at it, `sealed/`."""

    folder: Path
    distractors: Sequence[int]

    @cached_property
    def tracks(self) -> tuple[Track, ...]:
        """The twelve tracks of this release."""
        return tracks_of(self.distractors)

    def places(self) -> Iterator[tuple[str, Track]]:
        """Every split of every track."""
        for split in SPLITS:
            for track in self.tracks:
                yield split, track

    def inputs(self, split: str, track: Track) -> Iterator[Row]:
        """The rows that a system sees."""
        return _rows(self._inputs(split, track))

    def references(self, split: str, track: Track) -> Iterator[Row]:
        """The gold rows, from the sealed part for the held-out split."""
        return _rows(self._references(split, track))

    def strays(self) -> list[str]:
        """The rows of the public part that belong to no release, such as the gold of the held-out split."""
        public = self.folder / "public"
        known = {path for place in self.places() for path in (self._inputs(*place), self._references(*place))}
        return [path.relative_to(public).as_posix() for path in public.rglob("*.jsonl") if path not in known]

    def _inputs(self, split: str, track: Track) -> Path:
        return self.folder / "public" / split / track.folder / INPUT

    def _references(self, split: str, track: Track) -> Path:
        return self.folder / side_of(split) / split / track.folder / REFERENCE

    @cached_property
    def key(self) -> dict[str, Row]:
        """What stands behind each row, by its benchmark_id: item, user, group, dialogue, memory."""
        rows = _rows(self.folder / "sealed" / "key.jsonl")
        return {row["benchmark_id"]: row for row in rows}


def side_of(split: str) -> str:
    """Return the part of a release that holds the gold of a split."""
    return "sealed" if split == HELD_OUT else "public"


def open_release(folder: Path) -> Release:
    """Open a finished release.

    Raises:
        BadInputError: there is none at `folder`, or its sealed part is missing.
    """
    manifest = folder / "public" / "manifest.json"
    try:
        made = json.loads(manifest.read_text(encoding="utf-8"))
        distractors = [track["distractors"] for track in made["tracks"] if track["task"] == "task3"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInputError(f"{folder} is no release: public/manifest.json is missing or damaged") from None
    if not (folder / "sealed").is_dir():
        raise BadInputError(f"{folder} has no sealed part: only its maker can audit it")
    return Release(folder, distractors)


def _rows(path: Path) -> Iterator[Row]:
    try:
        with path.open("rb") as file:
            for line in file:
                yield orjson.loads(line)
    except (OSError, orjson.JSONDecodeError):
        raise BadInputError(f"{path.name} of {path.parent.name} is missing or damaged: {path}") from None
