"""Opens a source of conversations: finds its shards, and remembers their hashes while they do not change."""

import json
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from flows.hub.address import Address
from flows.hub.snapshot import Snapshot
from flows.models import variables
from stages.source import Shard, Source, files_of
from warehouse import BadInputError, Home, sha256_of

SAMPLE = Path(__file__).resolve().parent.parent / "stages" / "sample"


def locate(console: Console, place: Path | Address, *, fetch: bool) -> Path | Snapshot:
    """Find a source: one of a hub is pinned to a commit, and with `fetch` it is downloaded.

    Raises:
        BadInputError: the hub has no such thing, or not for whoever asks.
        HubError: the hub cannot be reached, or the disk is full.
    """
    if isinstance(place, Path):
        return place
    from flows.hub.fetch import fetch as fetched
    from flows.hub.hub import Hub
    from flows.hub.listing import snapshot_of

    hub = Hub(token=token_of(variables().get("HF_TOKEN")))
    snapshot = snapshot_of(hub, place)
    if not place.is_pinned:
        told = f"{place} is now {snapshot.address}; the recipe of the release will name that"
        console.print(escape(told), highlight=False, soft_wrap=True)
    return fetched(console, hub, snapshot) if fetch else snapshot


def token_of(given: str | None) -> str | None:
    """Return the hub's token as it can be sent.

    Raises:
        BadInputError: no token looks so; what it is stays unsaid.
    """
    token = (given or "").strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadInputError("HF_TOKEN holds characters that no token has")
    return token or None


def open_source(place: Path | Snapshot, home: Home) -> Source:
    """Return the source at a place; a file of a hub that is not on this disk is what the hub says of it.

    Raises:
        BadInputError: there is nothing to read, or what there is was damaged in the hub's cache.
    """
    memo = home.work / "hashes.json"
    known = _read(memo)
    shards = _shards(place, known)
    draft = memo.with_suffix(".partial")
    draft.write_text(json.dumps(known), encoding="utf-8")
    draft.replace(memo)
    return Source(tuple(shards), home.work / "json_lines")


def _shards(place: Path | Snapshot, known: dict[str, str]) -> list[Shard]:
    if isinstance(place, Path):
        return [_shard(name, file, known) for name, file in files_of(place)]
    return [
        _shard(file.name, file.path, known, file.sha256)
        if file.path
        else Shard(file.name, Path(file.name), file.size, file.sha256 or "not known yet")
        for file in place.files
    ]


def _shard(name: str, file: Path, known: dict[str, str], told: str | None = None) -> Shard:
    try:
        status = file.stat()
        state = f"{file.resolve()}|{status.st_size}|{status.st_mtime_ns}"
        if state not in known:
            known[state] = sha256_of(file)
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror}") from None
    # The hub's client looks at the size alone.
    if told not in (None, known[state]):
        raise BadInputError(f"{file.resolve()} is not the {name} that the hub has: remove it, and run this again")
    return Shard(name, file, status.st_size, known[state])


def _read(memo: Path) -> dict[str, str]:
    try:
        known = json.loads(memo.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
