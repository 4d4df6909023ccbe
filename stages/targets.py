"""What each item of the benchmark is about: a dialogue for task 1, a memory for the other tracks."""

from collections.abc import Mapping

import pyarrow as pa

from stages.beside import beside
from stages.item import Item
from warehouse import Relation, Warehouse

SQL = beside(__file__, ".sql")
ITEM = Item("target_choices", "target_id")
CHOICES = """
    create or replace temp view target_choices as
    select 't' || sha256(kind || '|' || coalesce(memory_id, dialogue_id))[:16] as target_id, *
    from ({})
"""
# Which labels an ability is about, by pattern. A memory may be a target of several abilities.
ABILITY_LABELS = {
    "PA": (
        "Personal_Background/%",
        "Social_Relationships/%",
        "States_Experiences/Past_Experience",
        "Thoughts/Goals/Long_Term",
    ),
    "PF_general": ("Preferences/%", "Possessions/Pet", "Possessions/Car"),
    "PF_interaction": ("Preferences/Interaction_Preferences",),
    "CF": ("Constraints_and_Boundaries/%",),
}
PATTERNS = pa.schema([("kind", pa.string()), ("pattern", pa.string())])
CAPS = pa.schema([("kind", pa.string()), ("label_cap", pa.int32()), ("cap", pa.int32())])


def targets(
    db: Warehouse, *, minimum_confidence: float, label_caps: Mapping[str, int], caps: Mapping[str, int]
) -> Relation:
    """One row a target. `kind` is extraction, update, retrieval, or an ability of task 4.

    `caps` bound a kind as a whole (for EI: each language apart), `label_caps` each label within it; what
    lies below `minimum_confidence` or above a cap is dropped. Verified memories go first, then by hash.
    Each user gives at most one update and one retrieval target.
    """
    patterns = [(kind, pattern) for kind, found in ABILITY_LABELS.items() for pattern in found]
    kinds = sorted({*caps, *label_caps})
    limits = [{"kind": kind, "label_cap": label_caps.get(kind), "cap": caps.get(kind)} for kind in kinds]
    db.register("ability_labels", pa.table([list(one) for one in zip(*patterns, strict=True)], schema=PATTERNS))
    db.register("limits", pa.Table.from_pylist(limits, schema=CAPS))
    choices, chosen = SQL.split("-- choose\n")
    db.execute(CHOICES.format(choices))
    return db.sql(chosen, params={"minimum_confidence": minimum_confidence})
