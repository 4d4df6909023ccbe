"""From conversations to samples of memories. Read this file first: it is the first part of the DAG."""

from collections.abc import Mapping

from flows.build import Build
from flows.recipe import Recipe
from llm.gateway import Model
from stages import (
    candidate_memories,
    conversations,
    dialogues,
    duplicate_dialogues,
    duplicate_memories,
    memories,
    sample_memories,
    samples,
    users,
)
from stages.secret import Secret
from stages.source import Source
from warehouse import Table


def curate(
    build: Build, recipe: Recipe, source: Source, secret: Secret, models: Mapping[str, Model]
) -> dict[str, Table]:
    """Build every table from the source to the samples."""
    raw = build(conversations, source=source, secret=secret)
    kept = build(dialogues, raw, source=source, **dict(recipe.dialogues))
    people = build(users, raw, kept)
    twins = build(duplicate_dialogues, kept, **dict(recipe.duplicate_dialogues))
    candidates = build(candidate_memories, kept, twins, extractor=models["extractor"])
    checked = build(memories, candidates, kept, validator=models["validator"], **dict(recipe.evidence))
    alike = build(duplicate_memories, checked, **dict(recipe.duplicate_memories))
    chosen = build(sample_memories, checked, alike, **dict(recipe.samples))
    sampled = build(samples, kept, twins, checked, chosen)
    return {table.name: table for table in (raw, kept, people, twins, candidates, checked, alike, chosen, sampled)}
