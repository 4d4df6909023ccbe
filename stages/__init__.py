"""The nodes of the DAG, one function for each table. `flows/` puts them in order."""

from stages.annotation_tasks import annotation_tasks
from stages.annotations import annotations
from stages.audits import audits
from stages.candidate_memories import candidate_memories
from stages.conversations import conversations
from stages.dialogues import dialogues
from stages.duplicate_dialogues import duplicate_dialogues
from stages.duplicate_memories import duplicate_memories
from stages.extraction_items import extraction_items
from stages.gold_memories import gold_memories
from stages.leak_checks import leak_checks
from stages.memories import memories
from stages.query_drafts import query_drafts
from stages.release_rows import release_rows
from stages.retrieval_items import retrieval_items
from stages.sample_memories import sample_memories
from stages.samples import samples
from stages.splits import splits
from stages.targets import targets
from stages.update_items import update_items
from stages.users import users
from stages.utilization_items import utilization_items

__all__ = [
    "annotation_tasks",
    "annotations",
    "audits",
    "candidate_memories",
    "conversations",
    "dialogues",
    "duplicate_dialogues",
    "duplicate_memories",
    "extraction_items",
    "gold_memories",
    "leak_checks",
    "memories",
    "query_drafts",
    "release_rows",
    "retrieval_items",
    "sample_memories",
    "samples",
    "splits",
    "targets",
    "update_items",
    "users",
    "utilization_items",
]
