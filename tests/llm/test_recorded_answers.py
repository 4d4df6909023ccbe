"""The 10,419 answers that seven real models gave, each read by hand beside the reader."""

import json
import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from llm.answers import AnswerError, read_answer
from llm.attempts import Reply
from llm.questions import outcome_of
from stages.candidate_memories import MemoryItems

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "data" / "alps" / "recordings.parquet"
NAMES = ("type", "label", "label_suggestion", "value", "confidence", "evidence_text")

pytestmark = pytest.mark.skipif(not RECORDINGS.is_file(), reason="needs ../shared/data/alps/recordings.parquet")

COUNTS = """
    model             | ok   | cut | prose | another form | lacks label | lacks confidence and evidence_text
    claude-sonnet-4.5 | 1306 | 7   | 0     | 0            | 0           | 0
    deepseek-reasoner | 1530 | 0   | 0     | 0            | 0           | 0
    gemini-3-flash    | 1523 | 0   | 0     | 0            | 0           | 0
    gpt-4.1-mini      | 1499 | 0   | 1     | 0            | 13          | 0
    gpt-5.2           | 1531 | 0   | 0     | 0            | 0           | 0
    llama-4-maverick  | 1493 | 0   | 0     | 1            | 0           | 7
    qwen3-max         | 1508 | 0   | 0     | 0            | 0           | 0
"""


@pytest.fixture(scope="module")
def recordings():
    rows = pq.read_table(RECORDINGS).to_pylist()
    assert len(rows) == 10_419
    return rows


def in_fence(text):
    """Return what stands in the last ``` fence, closed or not, or all."""
    return (re.findall(r"```(?:json)?\n(.*?)(?:\n```|\Z)", text, re.DOTALL) or [text])[-1]


def value_of(text):
    try:
        return json.loads(in_fence(text))
    except ValueError:
        return None


def is_typed(item):
    """Check by hand what the contract says of one item that has all names."""
    return (
        all(isinstance(item[name], str) for name in ("type", "value", "evidence_text"))
        and all(isinstance(item.get(name), str | None) for name in ("label", "label_suggestion"))
        and type(item["confidence"]) in (int, float)
    )


def kind_of(text):
    """Say by hand what an answer is: good, or how it is bad."""
    value = value_of(text)
    if value is None:
        return "cut" if in_fence(text).lstrip().startswith("{") else "prose"
    if not isinstance(value.get("memory_items"), list):
        return "another form"
    needed = [name for name in NAMES if name != "label_suggestion"]
    lacking = sorted({name for item in value["memory_items"] for name in needed if name not in item})
    if lacking:
        return f"lacks {' and '.join(lacking)}"
    return "ok" if all(is_typed(item) for item in value["memory_items"]) else "of another type"


def test_each_answer_is_classified_and_as_many_as_counted_are_of_each_kind(recordings):
    header, *lines = [[cell.strip() for cell in line.split("|")] for line in COUNTS.strip().splitlines()]
    counted = {
        (line[0], kind): int(cell)
        for line in lines
        for kind, cell in zip(header[1:], line[1:], strict=True)
        if int(cell)
    }
    assert sum(counted.values()) == 10_419
    assert Counter((row["model"], kind_of(row["answer"])) for row in recordings) == counted


def test_those_that_hold_the_contract_are_answers_and_all_others_schema_errors(recordings):
    for number, row in enumerate(recordings):
        outcome = outcome_of(Reply("ok", row["answer"]), MemoryItems)
        expected = "ok" if kind_of(row["answer"]) == "ok" else "schema_error"
        assert outcome.status == expected, f"answer {number} of {row['model']}"


def test_what_is_read_is_what_stands_there_item_by_item(recordings):
    for number, row in enumerate(recordings):
        if kind_of(row["answer"]) == "ok":
            found = read_answer(row["answer"], MemoryItems)
            expected = [{name: item.get(name) for name in NAMES} for item in value_of(row["answer"])["memory_items"]]
            assert [item.model_dump() for item in found.memory_items] == expected, f"answer {number} of {row['model']}"


def test_no_recorded_answer_passes_when_it_is_cut(recordings):
    for row in recordings[::50]:
        whole = row["answer"].rstrip().removesuffix("```").rstrip()
        for length in (len(whole) // 2, len(whole) - 1):
            with pytest.raises(AnswerError):
                read_answer(whole[:length], MemoryItems)
