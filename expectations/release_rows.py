"""What the table `release_rows` promises."""

from expectations.columns import KINDS, an_id, dialogue_id, item_id, memory_id, split, target_id, user_id
from expectations.contract import Column, Contract

CONTRACT = Contract(
    about="a row of the release, and what stands behind its opaque id",
    columns=(
        Column("benchmark_id", unique=True, pattern="task[0-9a-z_]+-[0-9a-f]{12}", about="The id in the release."),
        Column("track", about="The track that it is in."),
        split(),
        item_id(),
        target_id(),
        Column("kind", values=KINDS, about="The kind of its target."),
        dialogue_id(),
        memory_id(null=True),
        user_id(),
        an_id("group_id", "g", "The group of the user."),
    ),
    unique=(("track", "item_id"),),
)
