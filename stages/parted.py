"""What a stage returns whose rows are too heavy to be written with those that are dropped."""

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from warehouse import Relation

Rows: TypeAlias = Relation | pa.Table | pa.RecordBatchReader


@dataclass(frozen=True)
class Parted:
    """The rows that are kept, and those dropped: the stage's item, `drop_reason` and `drop_detail`."""

    kept: Rows
    dropped: Rows
