"""The dataset card of a release: what it is, how it came about, and what it withstood."""

from collections.abc import Iterable, Iterator, Sequence

from evaluation.tracks import INPUT, SPLITS, Track
from flows.recipe import Recipe
from stages.label_counts import TITLES, count_labels
from warehouse import Warehouse

HEAD = """\
---
license: {license}
configs:
{configs}
---

# AlpsBench {version}

{about}.

{status}

{models}

{origin}.
"""
STATUS = {
    True: "The gold memories were verified by people.",
    False: "**UNVERIFIED**: {share} of the gold memories were verified by people; the rest is what a machine found.",
}


def card_of(db: Warehouse, version: str, recipe: Recipe, tracks: Sequence[Track]) -> str:
    """Write the card, every figure of it from a query."""
    verified, total = db.execute("select count(*) filter (verified), count(*) from gold_memories").fetchall()[0]
    status = STATUS[verified == total].format(share=f"{verified} of {total}")
    head = HEAD.format(
        configs="\n".join(_config(track) for track in tracks),
        version=version,
        about=recipe.about.rstrip("."),
        origin=recipe.origin.rstrip("."),
        license=recipe.license,
        status=status,
        models=_models(db),
    )
    rows = "select track, split, count(*) from release_rows group by all"
    counts = {(track, split): number for track, split, number in db.execute(rows).fetchall()}
    parts = [
        head,
        "## Rows\n",
        _table(
            ("track", *SPLITS),
            ((track.name, *(counts.get((track.name, split), 0) for split in SPLITS)) for track in tracks),
        ),
        "## Funnel\n",
        _table(("table", "its items", "items in", "rows", "dropped"), db.execute(FUNNEL).fetchall()),
        "## Labels before and after selection\n",
        "Eligible is what users said of themselves, near-duplicates left out. Of the eligible memories those of the "
        "samples are selected, of each label up to its cap, and at least its floor as far as users have enough.\n",
        _table(("label", *TITLES, "floor", "cap", "gold"), _labels(db, recipe)),
        "## What the release withstood\n",
        "A gate passes while its figure is not above its bound. What needs judgement and had none is not measured.\n",
        _table(("gate", "track", "verdict", "figure", "bound", "of", "remark"), db.execute(GATES).fetchall()),
    ]
    return "\n".join(parts)


FUNNEL = "select name, item, items_in, rows, dropped from builds where name <> 'audits' order by position"
GOLD = "select label, count(*) from gold_memories group by label"
GATES = 'select gate, track, verdict, figure, bound, "of", detail from audits'
MADE_BY = """
    select 'extractor', extractor from memories union select 'validator', validator from memories
    union select 'generator', generator from query_drafts union select 'generator', generator from update_items
    union select 'auditor', checked_by from leak_checks where "check" = 'auditor'
    order by 1 desc, 2
"""


def _labels(db: Warehouse, recipe: Recipe) -> Iterator[Sequence[object]]:
    """Give each label's counts and limits; what people corrected is gold of the label that they gave it."""
    gold = dict(db.execute(GOLD).fetchall())
    for one in count_labels(db, recipe.samples.limits):
        label, (cap, floor), *counts = one
        yield label, *counts, floor, cap, gold.get(label, 0)


def _models(db: Warehouse) -> str:
    made = [f"{role} {name}" for role, name in db.execute(MADE_BY).fetchall()]
    rules = any("offline-rules" in one for one in made)
    note = " (`offline-rules` is a set of rules, no language model)" if rules else ""
    return f"Made by: {', '.join(made)}{note}."


def _config(track: Track) -> str:
    lines = [f"- config_name: {track.name}", "  data_files:"]
    for split in SPLITS:
        lines += [f"  - split: {split}", f"    path: {split}/{track.folder}/{INPUT}"]
    return "\n".join(lines)


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
