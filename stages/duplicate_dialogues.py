"""Dialogues whose user said nearly what another dialogue's user had said before."""

import pyarrow as pa

from stages.beside import beside
from stages.near_duplicates import Stored, near_duplicates, pairs_table
from stages.workers import HERE, Workers
from warehouse import Warehouse

SQL = beside(__file__, ".sql")
ROWS = 250
"""So many dialogues are read at a time; of some, the user said a megabyte."""


def duplicate_dialogues(
    db: Warehouse, *, shingle_characters: int, threshold: float, permutations: int, workers: Workers = HERE
) -> pa.Table:
    """One row a near-duplicate, beside the kept dialogue that it is like; the earliest is kept.

    Of those that ended at the same time, one whose user is known goes first; one without a time goes last. Only the
    messages of users are compared, since two models answer differently.
    """
    texts = Stored(db, SQL, {}, ROWS)
    likes = near_duplicates(
        texts,
        shingle_characters=shingle_characters,
        threshold=threshold,
        permutations=permutations,
        workers=workers,
    )
    return pairs_table(texts.names(), likes)
