"""Dialogues whose user said nearly what another dialogue's user had said before."""

import pyarrow as pa

from stages.near_duplicates import pairs_table
from warehouse import Warehouse

SPOKEN = """
    select dialogue_id, user_id,
        array_to_string(list_transform(list_filter(turns, lambda m: m.role = 'user'), lambda m: m.text), ' ')
    from dialogues
    order by ended_at, dialogue_id
"""


def duplicate_dialogues(db: Warehouse, *, shingle_characters: int, threshold: float, permutations: int) -> pa.Table:
    """One row a near-duplicate, beside the kept dialogue that it is like; the earliest is kept.

    Only the messages of users are compared, since two models answer differently.
    """
    rows = db.execute(SPOKEN).fetchall()
    return pairs_table(rows, shingle_characters, threshold, permutations)
