"""Memories that say nearly what another one says."""

from typing import Literal

import pyarrow as pa

from stages.beside import beside
from stages.near_duplicates import Stored, near_duplicates, pairs_table
from stages.workers import HERE, Workers
from warehouse import Warehouse

SQL = beside(__file__, ".sql")
ROWS = 2_000


def duplicate_memories(
    db: Warehouse,
    *,
    shingle_characters: int,
    threshold: float,
    permutations: int,
    scope: Literal["all", "label"] = "all",
    workers: Workers = HERE,
) -> pa.Table:
    """One row a near-duplicate, beside the kept memory that it is like, whoever said it.

    A memory about the user goes before one that is not, what the user said before what the user did not say, and the
    surer one before the less sure. With the scope "label", only memories of one label are compared; UNMAPPED is one.
    """
    texts = Stored(db, SQL, {"scope": scope}, ROWS)
    likes = near_duplicates(
        texts,
        shingle_characters=shingle_characters,
        threshold=threshold,
        permutations=permutations,
        workers=workers,
    )
    return pairs_table(texts.names(), likes)
