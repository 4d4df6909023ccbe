"""From gold memories to the rows of a release: splits, targets, items, and the checks of their queries."""

from collections.abc import Mapping

from flows.build import Build
from flows.recipe import Recipe
from llm.gateway import Model
from stages import (
    audits,
    extraction_items,
    leak_checks,
    query_drafts,
    release_rows,
    retrieval_items,
    splits,
    targets,
    update_items,
    utilization_items,
)
from stages.audits import Draft
from warehouse import Table


def construct(
    build: Build, recipe: Recipe, tables: Mapping[str, Table], models: Mapping[str, Model]
) -> dict[str, Table]:
    """Build the items of all tracks."""
    kept, checked, gold = tables["dialogues"], tables["memories"], tables["gold_memories"]
    twins, alike, sampled = tables["duplicate_dialogues"], tables["duplicate_memories"], tables["samples"]
    limits = recipe.leaks.limits
    sizes = recipe.retrieval.distractors
    placed = build(
        splits,
        *(tables["users"], checked, gold, twins, alike),
        shares=recipe.splits.shares,
        test_roles=recipe.splits.test_roles.model_dump(),
        bank_memories=round(recipe.splits.bank_factor * max(sizes)),
    )
    aims = build(
        targets,
        *(sampled, placed, gold, checked, alike),
        minimum_confidence=recipe.targets.minimum_confidence,
        label_caps=recipe.targets.label_caps.model_dump(exclude_none=True),
        caps=recipe.targets.caps.model_dump(exclude_none=True),
    )
    extraction = build(extraction_items, aims, kept, gold)
    update = build(update_items, aims, gold, generator=models["generator"], noise_turns=recipe.updates.noise_turns)
    drafts = build(
        query_drafts,
        aims,
        checked,
        generator=models["generator"],
        rewrites=recipe.leaks.rewrites,
        limits=limits,
    )
    retrieval = build(
        retrieval_items,
        *(aims, drafts, checked, placed, alike),
        distractors=sizes,
        shingle_characters=recipe.duplicate_memories.shingle_characters,
        threshold=recipe.duplicate_memories.threshold,
    )
    utilization = build(utilization_items, aims, drafts)
    leaks = build(leak_checks, retrieval, utilization, checked, auditor=models["auditor"], limits=limits)
    rows = build(release_rows, extraction, update, retrieval, utilization, aims, placed, distractors=sizes)
    made = (placed, aims, extraction, update, drafts, retrieval, utilization, leaks, rows)
    return {table.name: table for table in made}


def attack(build: Build, recipe: Recipe, tables: Mapping[str, Table], draft: Draft) -> Table:
    """Ask every gate of the written release."""
    items = ("extraction_items", "update_items", "retrieval_items", "utilization_items")
    return build(
        audits,
        *(tables[name] for name in (*items, "gold_memories", "leak_checks")),
        draft=draft,
        limits=recipe.leaks.limits,
        auditor_is_rules=recipe.models.auditor.name == "offline",
    )
