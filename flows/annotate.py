"""From samples to gold memories: people correct them, or they pass unverified."""

from collections.abc import Mapping

from annotation.desk import Desk
from flows.build import Build
from stages import annotation_tasks, annotations, gold_memories
from warehouse import Table


def annotate(build: Build, tables: Mapping[str, Table], desk: Desk) -> dict[str, Table]:
    """Build the tasks, what became of them, and the memories that hold."""
    tasks = build(annotation_tasks, tables["samples"], tables["sample_memories"])
    reviewed = build(annotations, tasks, tables["sample_memories"], desk=desk)
    gold = build(gold_memories, reviewed, tables["memories"])
    return {table.name: table for table in (tasks, reviewed, gold)}
