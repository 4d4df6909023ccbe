"""Counts the memories of each label before and after the selection of samples."""

from collections.abc import Mapping
from typing import NamedTuple

from stages.sample_memories import LabelLimits
from warehouse import Warehouse

COUNTS = """
    select
        memories.label,
        count(*) as extracted,
        count(*) filter (sample_rank is not null or reason in ('other_dialogue_of_user', 'label_cap', 'sample_limit')),
        count(sample_rank),
        count(distinct sample_memories.dialogue_id)
    from memories
    left join sample_memories using (memory_id)
    left join dropped on stage = 'sample_memories' and item = memories.memory_id
    group by memories.label
    order by extracted desc, memories.label
"""
TITLES = ("extracted", "eligible", "selected", "samples")


class LabelCount(NamedTuple):
    """How many memories of a label were extracted, could be selected, and were, in how many samples."""

    label: str
    limits: LabelLimits
    extracted: int = 0
    eligible: int = 0
    selected: int = 0
    samples: int = 0

    @property
    def remark(self) -> str:
        """Say where the cap kept memories out, or the floor asks for more than there are."""
        if self.selected == self.limits.cap < self.eligible:
            return f"at cap {self.limits.cap:,}"
        return f"below floor {self.limits.floor:,}" if self.selected < self.limits.floor else ""


def count_labels(db: Warehouse, limits: Mapping[str, LabelLimits]) -> list[LabelCount]:
    """Count each label of `limits`, those with most memories first; one that no memory has is there too.

    `db` holds `memories`, `sample_memories` and what it dropped.
    """
    found = {label: numbers for label, *numbers in db.execute(COUNTS).fetchall()}
    labels = [*found, *(label for label in limits if label not in found)]
    return [LabelCount(label, limits[label], *found.get(label, ())) for label in labels]
