"""Vectors of texts: read out of a server's answer, and kept in the ledger's file as little-endian float32."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llm.ledger import KEYS_AT_ONCE, Ledger

FLOAT32 = np.dtype("<f4")


def known_vectors(ledger: Ledger, keys: Sequence[str]) -> dict[str, bytes]:
    """Return the vector of each key that has one."""
    found: dict[str, bytes] = {}
    for start in range(0, len(keys), KEYS_AT_ONCE):
        part = keys[start : start + KEYS_AT_ONCE]
        marks = ", ".join("?" * len(part))
        found.update(ledger.db.execute(f"select key, vector from vectors where key in ({marks})", part).fetchall())
    return found


def keep_vectors(ledger: Ledger, vectors: Mapping[str, bytes]) -> None:
    """Keep vectors; a key that has one keeps it, so that everybody is given the same."""
    ledger.db.executemany("insert or ignore into vectors values (?, ?)", vectors.items())


def read_vectors(answer: Mapping[str, Any], keys: Sequence[str]) -> dict[str, bytes] | None:
    """Return the vectors of an answer by the keys of what was asked, in order; None where they are not that many."""
    try:
        found = {item["index"]: _read_vector(item["embedding"]) for item in answer["data"]}
        vectors = {key: found[place] for place, key in enumerate(keys)}
    except (KeyError, TypeError, ValueError):
        return None
    return vectors if len(answer["data"]) == len(keys) else None


def _read_vector(given: Any) -> bytes:
    if isinstance(given, str):
        vector = np.frombuffer(base64.b64decode(given, validate=True), FLOAT32)
    else:
        with np.errstate(over="ignore"):
            vector = np.asarray(given, dtype=np.float64).astype(FLOAT32)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise ValueError("no vector")
    return vector.tobytes()


def numbers_of(vector: bytes) -> list[float]:
    """Return the numbers of a vector, each exactly the float32 that is kept."""
    numbers: list[float] = np.frombuffer(vector, FLOAT32).tolist()
    return numbers
