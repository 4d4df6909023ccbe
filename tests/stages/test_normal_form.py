from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expectations.columns import CERTAIN
from stages.normal_form import Verdict, changes_of, memory_of
from stages.taxonomy import LABELS, TYPES, UNMAPPED

GOLD = Path(__file__).resolve().parents[3] / "shared" / "data" / "alps" / "gold_memories.parquet"
FIELDS = {"type": "direct", "label": "Plans/Schedule", "label_suggestion": None, "value": "Sails", "confidence": 0.8}
MORE = {"number": 0, "emotion": None, "context": "self", "time_scope": "unknown", "preference_attitude": None}
TEXTS = st.text(max_size=12)


def verdict(**changes):
    return Verdict(**{**MORE, **FIELDS, **changes})


@pytest.mark.skipif(not GOLD.exists(), reason="the real memories are not part of the repository")
def test_of_real_values_only_what_tools_left_is_cut():
    values = [value for value in pq.read_table(GOLD, columns=["value"])["value"].to_pylist() if value]
    cut = [(value, memory_of(verdict(value=value)).get("value")) for value in values]
    dirty = [(value, taken) for value, taken in cut if "[ERROR" in value.upper()]

    assert len(dirty) > 400
    assert [taken for value, taken in dirty if taken != value[: value.upper().index("[ERROR")].strip()] == []
    assert [value for value, taken in cut if taken != value.strip() and "[ERROR" not in value.upper()] == []


@given(
    type=st.sampled_from([*TYPES, "Explicit", "implied"]) | TEXTS,
    label=st.sampled_from([*LABELS, None]) | TEXTS,
    value=TEXTS | st.just("[ERROR: no]"),
    confidence=st.floats(-1, 5, allow_nan=False),
)
def test_any_verdict_has_a_normal_form_or_a_reason_why_not(**changes):
    memory = memory_of(verdict(**changes))

    if not memory.get("drop_reason"):
        assert memory["type"] in TYPES
        assert memory["label"] in (*LABELS, UNMAPPED)
        assert memory["value"].strip() == memory["value"] != ""
        assert memory["confidence"] in CERTAIN
        assert (memory["type"], memory["confidence"]) != ("indirect", 0.95)


@given(
    label=st.sampled_from(["Plans/Schedule", "plans/schedule", "Plans", None]),
    value=st.sampled_from(["Sails", " Sails", "Sails [ERROR]"]),
    confidence=st.sampled_from([0.8, 0.82, 0.65, 0.95]),
)
def test_who_undoes_the_changes_from_the_last_to_the_first_has_the_candidate_again(**changes):
    checked = verdict(**changes)
    memory = memory_of(checked)
    undone = {name: memory[name] for name in FIELDS}
    for change in reversed([*changes_of(FIELDS, checked, memory)]):
        field = str(change["field"])
        assert str(undone[field]) == str(change["taken"])
        undone[field] = change["given"]

    assert {name: str(undone[name]) for name in ("type", "label", "value", "confidence")} == {
        name: str(FIELDS[name]) for name in ("type", "label", "value", "confidence")
    }
