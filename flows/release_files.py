"""Writes a release: the public files and the sealed ones, each by its own code, then the manifest over both."""

import json
import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from evaluation.released import Row
from evaluation.tracks import HELD_OUT, INPUT, REFERENCE, SPLITS, Track
from flows.card import card_of
from flows.recipe import Recipe
from flows.recipe_file import recipe_text
from stages.envelope import input_rows, reference_rows
from warehouse import Home, Warehouse, sha256_of

FORMAT = 1
KEY = """
    select release_rows.*, evidence_text, language
    from release_rows
    left join memories using (memory_id)
    order by track, split, benchmark_id
"""


def write_draft(db: Warehouse, tracks: Sequence[Track], folder: Path) -> None:
    """Write all rows of a release into `folder`, which is there whole or not at all."""
    if folder.exists():
        return
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    write_public(db, tracks, partial / "public")
    write_sealed(db, tracks, partial / "sealed")
    partial.rename(folder)


def write_public(db: Warehouse, tracks: Sequence[Track], folder: Path) -> None:
    """Write what systems see, and the gold of every split but the held-out one."""
    for split in SPLITS:
        for track in tracks:
            place = folder / split / track.folder
            _write(place / INPUT, input_rows(db, track, split))
            if split != HELD_OUT:
                _write(place / REFERENCE, reference_rows(db, track, split))


def write_sealed(db: Warehouse, tracks: Sequence[Track], folder: Path) -> None:
    """Write the gold of the held-out split, and what stands behind each opaque id; for the owner's eyes."""
    folder.mkdir(mode=0o700, parents=True)
    for track in tracks:
        _write(folder / HELD_OUT / track.folder / REFERENCE, reference_rows(db, track, HELD_OUT))
    cursor = db.execute(KEY)
    names = [column[0] for column in cursor.description or ()]
    _write(folder / "key.jsonl", (dict(zip(names, row, strict=True)) for row in cursor.fetchall()))
    for path in folder.rglob("*.jsonl"):
        path.chmod(0o600)


def _write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def publish_release(
    db: Warehouse,
    home: Home,
    draft: Path,
    version: str,
    fingerprint: str,
    recipe: Recipe,
    tracks: Sequence[Track],
) -> Path:
    """Give an audited draft its card, recipe and manifest, and move it to its place."""
    public, sealed = draft / "public", draft / "sealed"
    (public / "recipe.toml").write_text(recipe_text(recipe), encoding="utf-8")
    audit = [dict(zip(("gate", "track", "verdict", "figure", "bound", "of", "chance", "detail"), row, strict=True))
             for row in db.execute("select * exclude (rows) from audits").fetchall()]  # fmt: skip
    (public / "audit.json").write_text(json.dumps(audit, indent=1) + "\n", encoding="utf-8")
    (public / "README.md").write_text(card_of(db, version, recipe, tracks), encoding="utf-8")
    manifest = manifest_of(public, sealed, version, fingerprint, tracks)
    (public / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    place = home.releases / version
    home.releases.mkdir(exist_ok=True)
    old = draft.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    draft.rename(place)
    shutil.rmtree(old, ignore_errors=True)
    return place


def manifest_of(public: Path, sealed: Path, version: str, fingerprint: str, tracks: Sequence[Track]) -> dict[str, Any]:
    """List every file with its hash; the sealed ones too, so that nobody can change the gold later."""
    return {
        "benchmark": "alpsbench",
        "format": FORMAT,
        "version": version,
        "fingerprint": fingerprint,
        "canary": f"alpsbench:{uuid.uuid5(uuid.NAMESPACE_URL, f'alpsbench/{version}/{fingerprint}')}",
        "tracks": [
            {"name": track.name, "task": track.task, "folder": track.folder, "distractors": track.distractors}
            for track in tracks
        ],
        "public": hashes_of(public),
        "sealed": hashes_of(sealed),
    }


def hashes_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Return SHA-256 and size in bytes of every file below a folder but the manifest, by its path there."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {
        path.relative_to(folder).as_posix(): {"sha256": sha256_of(path), "bytes": path.stat().st_size} for path in found
    }


def is_released(home: Home, version: str, fingerprint: str, tracks: Sequence[Track]) -> bool:
    """Say whether this very release stands in its place, every byte of it.

    A version made of other things does not count; whether it may be replaced is for the caller to say.
    """
    public, sealed = home.releases / version / "public", home.releases / version / "sealed"
    try:
        manifest = json.loads((public / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(manifest == manifest_of(public, sealed, version, fingerprint, tracks))


def is_made_of(place: Path, fingerprint: str) -> bool:
    """Say whether the manifest of a release names a fingerprint, whatever became of its files."""
    try:
        return bool(
            json.loads((place / "public" / "manifest.json").read_text(encoding="utf-8"))["fingerprint"] == fingerprint
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False
