"""Opens a source of conversations: finds its shards, and remembers their hashes while they do not change."""

import json
from pathlib import Path

from stages.source import Shard, Source, files_of
from warehouse import Home, sha256_of

SAMPLE = Path(__file__).resolve().parent.parent / "stages" / "sample"


def open_source(path: Path, home: Home) -> Source:
    """Return the source at `path`.

    Raises:
        BadInputError: there is nothing to read.
    """
    memo = home.work / "hashes.json"
    known = _read(memo)
    shards = []
    for name, file in files_of(path):
        status = file.stat()
        state = f"{file.resolve()}|{status.st_size}|{status.st_mtime_ns}"
        if state not in known:
            known[state] = sha256_of(file)
        shards.append(Shard(name, file, status.st_size, known[state]))
    draft = memo.with_suffix(".partial")
    draft.write_text(json.dumps(known), encoding="utf-8")
    draft.replace(memo)
    return Source(tuple(shards), home.work / "json_lines")


def _read(memo: Path) -> dict[str, str]:
    try:
        known = json.loads(memo.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
