"""What attacking a release found: one row a gate."""

from dataclasses import asdict

import pyarrow as pa

from evaluation.gates import Facts, audit
from evaluation.leaks import Limits
from evaluation.released import Release
from warehouse import Warehouse

AUDITED = "select item_id from leak_checks where \"check\" = 'auditor' and verdict = 'leaks'"
COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("gate", "track", "verdict")),
        *((name, pa.int64()) for name in ("figure", "bound", "of")),
        ("chance", pa.float64()),
        ("detail", pa.string()),
        ("rows", pa.list_(pa.string())),
    ]
)
ITEM_IDS = """
    select item_id from extraction_items union all select item_id from update_items
    union all select item_id from retrieval_items union all select item_id from utilization_items
"""


class Draft:
    """A release that is written but not yet published; `identity` is all that its files are made of."""

    def __init__(self, release: Release, identity: str) -> None:
        self.release = release
        self.identity = identity


def audits(db: Warehouse, *, draft: Draft, limits: Limits, auditor_is_rules: bool) -> pa.Table:
    """One row a gate, and a track where it is asked of each: `figure` may not be above `bound`."""
    verified, total = db.execute("select count(*) filter (verified), count(*) from gold_memories").fetchall()[0]
    facts = Facts(
        item_ids=frozenset(item_id for (item_id,) in db.execute(ITEM_IDS).fetchall()),
        limits=limits,
        verified_share=verified / total if total else 0.0,
        auditor_leaks=None if auditor_is_rules else frozenset(one for (one,) in db.execute(AUDITED).fetchall()),
    )
    gates = [asdict(gate) | {"rows": list(gate.rows)} for gate in audit(draft.release, facts)]
    return pa.Table.from_pylist(gates, schema=COLUMNS)
