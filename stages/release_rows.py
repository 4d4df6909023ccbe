"""Which row of which track and split each item becomes: the key to the opaque ids of a release."""

from collections.abc import Sequence

import pyarrow as pa

from evaluation.tracks import tracks_of
from stages.beside import beside
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
TRACKS = pa.schema([("track", pa.string()), ("kind", pa.string())])


def release_rows(db: Warehouse, *, distractors: Sequence[int]) -> Relation:
    """One row a row of the release. An item of task 3 gives one in each of the tracks of its pool sizes."""
    kinds = [(track.name, kind) for track in tracks_of(distractors) for kind in track.kinds]
    db.register("tracks", pa.table([list(one) for one in zip(*kinds, strict=True)], schema=TRACKS))
    return db.sql(SQL)
