"""Memories that say nearly what another one says."""

import pyarrow as pa

from stages.near_duplicates import pairs_table
from warehouse import Warehouse

VALUES = """
    select memory_id, user_id, value from memories
    order by context = 'self' desc, evidence_way in ('assistant', 'not_found'), confidence desc, memory_id
"""


def duplicate_memories(db: Warehouse, *, shingle_characters: int, threshold: float, permutations: int) -> pa.Table:
    """One row a near-duplicate, beside the kept memory that it is like, whoever said it.

    A memory about the user goes before one that is not, what the user said before what the user did not say, and the
    surer one before the less sure.
    """
    rows = db.execute(VALUES).fetchall()
    return pairs_table(rows, shingle_characters, threshold, permutations)
