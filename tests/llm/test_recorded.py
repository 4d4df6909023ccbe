import hashlib
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llm.gateway import Model, Prompt, Request
from llm.recorded import Recorded
from stages.candidate_memories import PROMPT, MemoryItems
from warehouse import BadInputError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
ROWS = [
    ("fable", "a_stage", "s0", '{"number": 4}'),
    ("fable", "a_stage", "s1", None),
    ("fable", "a_stage", "s2", "I do not know."),
    ("fable", "another", "s3", '{"number": 5}'),
    ("novel", "a_stage", "s0", '{"number": 6}'),
]


@pytest.fixture
def write(tmp_path):
    """Write recordings: `write()` those of ROWS, or any table."""

    def do(table=None, name="answers.parquet"):
        names = ["model", "prompt", "subject", "answer"]
        columns = [pa.array(list(column), pa.string()) for column in zip(*ROWS, strict=True)]
        pq.write_table(pa.table(columns, names=names) if table is None else table, tmp_path / name)
        return tmp_path / name

    return do


@pytest.mark.parametrize(
    ("model", "subject", "status", "number"),
    [
        ("fable", "s0", "ok", 4),
        ("novel", "s0", "ok", 6),
        ("fable", "s1", "empty", None),
        ("fable", "s2", "schema_error", None),
        ("fable", "s3", "not_recorded", None),
        ("novel", "s1", "not_recorded", None),
    ],
)
def test_the_answer_of_a_model_to_a_prompt_about_a_subject_is_replayed(
    write, prompt, count, model, subject, status, number
):
    recorded = Model(Recorded(write(), model))
    [outcome] = recorded.ask(prompt, [Request(subject, {"any": "input"})], count)
    assert (outcome.status, outcome.answer) == (status, None if number is None else count(number=number))


def test_a_recording_is_not_asked_twice(write, prompt, count, requests, endings):
    model = Model(Recorded(write(), "fable"))
    model.ask(prompt, requests(4), count)
    assert model.calls == 4
    statuses = ["ok", "empty", "schema_error", "not_recorded"]
    assert endings(model.ledger) == [(f"s{number}", status) for number, status in enumerate(statuses)]


def test_the_text_of_the_prompt_does_not_matter_to_a_recording(write, count, requests):
    model = Model(Recorded(write(), "fable"))
    for text in ("Say.", "Say again."):
        [outcome] = model.ask(Prompt("a_stage", text), requests(1), count)
        assert outcome.answer == count(number=4)


def test_a_recording_is_named_by_its_model_and_known_by_its_content(write, tmp_path):
    path = write()
    recorded = Recorded(path, "fable")
    assert recorded.name == "recorded:fable"
    assert recorded.identity == {"recorded": hashlib.sha256(path.read_bytes()).hexdigest(), "model": "fable"}
    moved = Recorded(path.rename(tmp_path / "moved.parquet"), "fable")
    assert moved.identity == recorded.identity
    assert str(tmp_path) not in str(recorded.identity)


def test_a_model_that_was_not_recorded_is_told_with_those_that_were(write):
    with pytest.raises(BadInputError, match=r"holds no answer of 'saga'; it has fable, novel$"):
        Recorded(write(), "saga")


def test_recordings_that_are_not_there_are_told(tmp_path):
    path = tmp_path / "none.parquet"
    with pytest.raises(BadInputError, match=f"^no recordings at {re.escape(str(path))}$"):
        Recorded(path, "fable")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"model": ["fable"], "prompt": ["p"], "answer": ["{}"]}),
        pa.table({"model": ["fable"], "prompt": ["p"], "subject": ["s"], "answer": [{"a": 1}]}),
    ],
    ids=["a column is missing", "a column of another type"],
)
def test_a_table_of_another_form_is_told(write, table):
    with pytest.raises(BadInputError, match="is no Parquet file with the columns model, prompt, subject, answer"):
        Recorded(write(table), "fable")


def test_columns_of_categories_are_texts_too(write, prompt, count, requests):
    names = ["model", "prompt", "subject", "answer"]
    columns = [pa.array(list(column)).dictionary_encode() for column in zip(*ROWS, strict=True)]
    [outcome] = Model(Recorded(write(pa.table(columns, names=names)), "novel")).ask(prompt, requests(1), count)
    assert outcome.answer == count(number=6)


@pytest.mark.parametrize("content", [b"", b"model,prompt\n", b"PAR1 and so on PAR1"])
def test_a_file_that_is_no_parquet_is_told(tmp_path, content):
    (tmp_path / "answers.csv").write_bytes(content)
    with pytest.raises(BadInputError, match="is no Parquet file with the columns"):
        Recorded(tmp_path / "answers.csv", "fable")


def test_an_empty_file_of_recordings_has_no_model(write):
    empty = pa.table({name: pa.array([], pa.string()) for name in ("model", "prompt", "subject", "answer")})
    with pytest.raises(BadInputError, match="it has none"):
        Recorded(write(empty), "fable")


@pytest.mark.skipif(not (SHARED / "alps").is_dir(), reason="needs ../shared/data/alps/recordings.parquet")
def test_the_shared_recordings_answer_for_every_dialogue_that_has_one():
    path = SHARED / "alps" / "recordings.parquet"
    rows = pq.read_table(path, filters=[("model", "=", "qwen3-max")]).to_pylist()
    asked = [Request(row["subject"], {}) for row in rows] + [Request("nobody", {})]
    outcomes = Model(Recorded(path, "qwen3-max")).ask(PROMPT, asked, MemoryItems)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 1508 + ["not_recorded"]
