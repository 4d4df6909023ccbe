"""What is not only built but published, documented and released, too: a build may be killed before that."""

import json
from collections.abc import Collection, Mapping

from warehouse import Home

RELEASE = "release "
"""What the names of releases begin with here, so that no table is taken for one."""


def begin(home: Home, tables: Collection[str]) -> None:
    """Take back, before anything is built, that tables are finished, and with them every release of them."""
    done = finished(home)
    kept = {name: made for name, made in done.items() if name not in tables and not name.startswith(RELEASE)}
    if tables and kept != done:
        _write(home, kept)


def finish(home: Home, made: Mapping[str, str]) -> None:
    """Write down, when all else is done, what is finished, and what it is made of."""
    _write(home, {**finished(home), **made})


def is_finished(home: Home, made: Mapping[str, str]) -> bool:
    """Say whether things are finished, each made of what is told, and lie where people open them."""
    done = finished(home)
    there = home.published.exists() and home.data_docs.exists()
    return there and all(done.get(name) == fingerprint for name, fingerprint in made.items())


def finished(home: Home) -> dict[str, str]:
    """Return the fingerprints of what was finished last."""
    try:
        done = json.loads(home.finished.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return done if isinstance(done, dict) else {}


def _write(home: Home, made: Mapping[str, str]) -> None:
    draft = home.finished.with_suffix(".partial")
    draft.write_text(json.dumps(made), encoding="utf-8")
    draft.replace(home.finished)
