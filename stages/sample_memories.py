"""The memories of the samples: which are chosen, in which order of samples, and why the others are not."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from stages.beside import beside
from stages.item import Item
from stages.taxonomy import LABELS, UNMAPPED
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("memories", "memory_id")
LIMITS = pa.schema([("label", pa.string()), ("cap", pa.int32()), ("floor", pa.int32())])


class LabelLimits(NamedTuple):
    """How many memories of a label are chosen at the most, and at the least where there are so many."""

    cap: int
    floor: int


def sample_memories(
    db: Warehouse,
    *,
    dialogues_per_user: int,
    label_cap: int,
    label_caps: Mapping[str, int],
    label_floor: int,
    label_floors: Mapping[str, int],
    limit: int,
) -> Relation:
    """Choose memories of up to `limit` samples: what users said about themselves, without near-duplicates.

    1. A user's dialogues are ordered by their implicit, then by all such memories: the richest
       `dialogues_per_user` are offered.
    2. The general order of dialogues: those with an implicit memory first, then by hash.
    3. Each label reserves as many memories as its floor: along the general order of the dialogues that are offered,
       then, if they hold too few, of the others; the surest of a dialogue first. Of the dialogues of one user that
       hold the label, those after the first `dialogues_per_user` come last of all. A user with a reserved memory in a
       dialogue that was not offered gives that one instead of one without any.
    4. Dialogues with a reserved memory are drawn for a floor. They go before all others, both in the general order.
    5. Along that final order a label takes as many memories as its cap; a dialogue that has none left is no sample.
    6. The first `limit` samples stay.

    Where no cap is below its floor and the floors add up to no more than `limit`, a label has its floor, or all that
    there is of it; only where a user has reserved memories of several labels in more than `dialogues_per_user`
    dialogues, or one label is to be had from too few users, some go missing.
    What is above a cap goes memory by memory, and the sample stays with the rest. A near-duplicate goes whether or not
    the memory that it is like is chosen: drawn is from one text of a kind, so that no draw, cap or limit decides what
    is a near-duplicate, and no two that are chosen are alike.

    Args:
        db: Holds `memories` and `duplicate_memories`.
        dialogues_per_user: From 1.
        label_cap: The cap of every label without one of its own.
        label_caps: The caps of single labels; 0 leaves a label out, and its memories make no dialogue rich.
        label_floor: The floor of every label of the taxonomy without one of its own; UNMAPPED has none.
        label_floors: The floors of single labels.
        limit: In samples, from 1.
    """
    limits = limits_of(label_cap, label_caps, label_floor, label_floors)
    rows = [{"label": label, **one._asdict()} for label, one in limits.items()]
    db.register("label_limits", pa.Table.from_pylist(rows, schema=LIMITS))
    return db.sql(SQL, params={"dialogues_per_user": dialogues_per_user, "limit": limit})


def limits_of(
    label_cap: int, label_caps: Mapping[str, int], label_floor: int, label_floors: Mapping[str, int]
) -> dict[str, LabelLimits]:
    """Return the cap and the floor of every label, UNMAPPED the last; the arguments are those of `sample_memories`."""
    floors = {**dict.fromkeys(LABELS, label_floor), UNMAPPED: 0, **label_floors}
    return {label: LabelLimits(label_caps.get(label, label_cap), floors[label]) for label in (*LABELS, UNMAPPED)}
