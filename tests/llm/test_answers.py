import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from llm.answers import AnswerError, read_answer
from stages.candidate_memories import MemoryItems

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
RECORDINGS = SHARED / "alps" / "recordings.parquet"
MEMORY = {
    "type": "direct",
    "label": "Possessions/Pet",
    "label_suggestion": None,
    "value": "Has a {small} dog [Rex]",
    "confidence": 0.95,
    "evidence_text": 'my "dog" \\ Rex',
}
ANSWER = json.dumps({"memory_items": [MEMORY, MEMORY]})
WRAPPED = {
    "alone": "%s",
    "blanks": "\n\t %s \n",
    "byte order mark": "\ufeff%s",
    "fence": "```json\n%s\n```",
    "bare fence": "```\n%s\n```",
    "open fence": "```json\n%s",
    "prose": "Here is what I found:\n%s\nIs there anything else?",
    "braces in prose": "Given {user} and [1], as {'a': 1} asks: %s Hope this {helps}!",
    "other values in prose": 'First {"thought": [1, 2]}, then [] and {}. %s {"done": true}',
    "fence in prose": "I think {so}.\n\n```json\n%s\n```\n\nNote: [none].",
}


class Open(BaseModel):
    """A form that takes what others refuse."""

    shares: dict[str, float]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int


@pytest.mark.parametrize("around", WRAPPED.values(), ids=WRAPPED)
def test_the_one_value_is_found_alone_in_a_fence_or_in_prose(around):
    found = read_answer(around % ANSWER, MemoryItems)
    assert [item.model_dump() for item in found.memory_items] == [MEMORY, MEMORY]


@pytest.mark.parametrize("around", WRAPPED.values(), ids=WRAPPED)
def test_no_cut_answer_passes_wherever_it_is_cut(around):
    start, end = around.index("%s"), len(around % ANSWER) - len(around.partition("%s")[2])
    for length in range(start, end):
        with pytest.raises(AnswerError):
            read_answer((around % ANSWER)[:length], MemoryItems)


@pytest.mark.parametrize("other", [ANSWER, '{"memory_items": []}'])
@pytest.mark.parametrize("around", ["%s\n%s", "```json\n%s\n```\nor rather\n```json\n%s\n```", "%s%s", "[%s, %s"])
def test_two_values_of_the_form_are_refused_even_if_alike(around, other):
    with pytest.raises(AnswerError, match=r"^2 values of the form MemoryItems$"):
        read_answer(around % (ANSWER, other), MemoryItems)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "null",
        "true",
        "3",
        "[]",
        "{}",
        '"memory_items"',
        "I found nothing.",
        '{"memory_items": null}',
        '{"memory_items": {}}',
        '{"memory_items": [null]}',
        '{"memories": []}',
        f"[{ANSWER}]",
        f'{{"result": {ANSWER}}}',
        json.dumps(ANSWER),
        ANSWER.replace('"', "'"),
        ANSWER.replace("]}", ",]}"),
    ],
)
def test_what_holds_no_value_of_the_form_is_refused(text):
    with pytest.raises(AnswerError):
        read_answer(text, MemoryItems)


def test_no_memories_is_an_answer():
    assert read_answer('{"memory_items": []}', MemoryItems).memory_items == []


@pytest.mark.parametrize("around", ["%s", "Here: %s"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '"NaN"', "9" * 5000, "9" * 400])
def test_what_is_no_finite_number_is_refused(number, around):
    with pytest.raises(AnswerError):
        read_answer(around % ANSWER.replace("0.95", number), MemoryItems)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_have_is_refused_by_every_form(number):
    with pytest.raises(AnswerError):
        read_answer(f'{{"shares": {{"a": {number}}}}}', Open)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
@pytest.mark.parametrize("before", ["", "As follows: "])
def test_deep_nesting_is_refused_in_no_time(text, before):
    started = time.process_time()
    with pytest.raises(AnswerError, match=r"^nested too deeply$"):
        read_answer(before + text + ANSWER, MemoryItems)
    assert time.process_time() - started < 1
    assert sys.getrecursionlimit() < 100_000


@pytest.mark.parametrize("around", ["%s", "Here: %s"])
@pytest.mark.parametrize("escape", ["\\ud83d", "\ud83d"])
def test_a_lone_surrogate_does_not_get_past(escape, around):
    found = read_answer(around % ANSWER.replace("small", escape), MemoryItems)
    assert [item.value for item in found.memory_items] == ["Has a {?} dog [Rex]"] * 2


def test_a_pair_of_surrogates_is_the_character_that_it_means():
    found = read_answer(ANSWER.replace("small", "\\ud83d\\ude00"), MemoryItems)
    assert found.memory_items[0].value == "Has a {😀} dog [Rex]"


SECRET = "Zanzibar"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (SECRET, MemoryItems),
        (f'{{"{SECRET}": 1}}', MemoryItems),
        (json.dumps({"memory_items": SECRET}), MemoryItems),
        (json.dumps({"memory_items": [MEMORY | {"confidence": SECRET}]}), MemoryItems),
        (json.dumps({"memory_items": [MEMORY | {"value": [SECRET]}, {SECRET: SECRET}]}), MemoryItems),
        (f"{ANSWER[:-2]} {SECRET}", MemoryItems),
        (json.dumps({"shares": {SECRET: "many"}}), Open),
        (json.dumps({"number": 1, SECRET: 2}), Closed),
    ],
)
def test_an_error_tells_the_place_and_never_the_text(text, form):
    with pytest.raises(AnswerError) as error:
        read_answer(text, form)
    assert SECRET not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None
    assert "\n" not in str(error.value)


def test_an_error_names_the_first_three_places():
    wrong = json.dumps({"memory_items": [MEMORY, {}]})
    with pytest.raises(AnswerError) as error:
        read_answer(wrong, MemoryItems)
    assert str(error.value) == (
        "memory_items.1.type: missing; memory_items.1.label: missing; memory_items.1.value: missing"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), VALUES)
def test_any_text_is_read_or_refused_and_nothing_else(text, value):
    for answer in (text, text + json.dumps(value), json.dumps({"memory_items": value}), text + ANSWER):
        try:
            found = read_answer(answer, MemoryItems)
        except AnswerError:
            continue
        assert isinstance(found, MemoryItems)


def without_fence(text):
    """Return what stands in the last ``` fence, or all."""
    return (re.findall(r"```(?:json)?\n(.*?)\n```", text, re.DOTALL) or [text])[-1]


def has_the_shape(answer):
    """Check by hand what the contract of an extractor's answer says."""
    items = answer.get("memory_items") if isinstance(answer, dict) else None
    return isinstance(items, list) and all(
        isinstance(item, dict)
        and all(isinstance(item.get(name), str) for name in ("type", "value", "evidence_text"))
        and "label" in item
        and all(isinstance(item.get(name), str | None) for name in ("label", "label_suggestion"))
        and type(item.get("confidence")) in (int, float)
        for item in items
    )


def read_by_hand(text):
    try:
        answer = json.loads(without_fence(text))
    except ValueError:
        return None
    return answer if has_the_shape(answer) else None


@pytest.fixture(scope="module")
def recordings():
    rows = pq.read_table(RECORDINGS).to_pylist()
    assert len(rows) == 10_419
    return rows


needs_recordings = pytest.mark.skipif(not RECORDINGS.is_file(), reason="needs ../shared/data/alps/recordings.parquet")


@needs_recordings
def test_every_recorded_answer_that_holds_the_contract_is_parsed_and_no_other(recordings):
    parsed, failed = Counter[str](), Counter[str]()
    for number, row in enumerate(recordings):
        expected = read_by_hand(row["answer"])
        try:
            found = read_answer(row["answer"], MemoryItems)
        except AnswerError:
            assert expected is None, f"answer {number} of {row['model']} holds the contract"
            failed[row["model"]] += 1
            continue
        assert expected is not None, f"answer {number} of {row['model']} does not hold the contract"
        assert [item.model_dump() for item in found.memory_items] == [
            {name: item.get(name) for name in MEMORY} for item in expected["memory_items"]
        ], f"answer {number} of {row['model']} reads otherwise"
        parsed[row["model"]] += 1
    assert parsed == {
        "claude-sonnet-4.5": 1306,
        "deepseek-reasoner": 1530,
        "gemini-3-flash": 1523,
        "gpt-4.1-mini": 1499,
        "gpt-5.2": 1531,
        "llama-4-maverick": 1493,
        "qwen3-max": 1508,
    }
    # Cut in the middle: the 7 of Claude; without a label, or in prose: 14; without confidence and evidence: 8.
    assert failed == {"claude-sonnet-4.5": 7, "gpt-4.1-mini": 14, "llama-4-maverick": 8}


@needs_recordings
def test_no_recorded_answer_passes_when_it_is_cut(recordings):
    for row in recordings[::50]:
        whole = row["answer"].rstrip().removesuffix("```").rstrip()
        for length in (len(whole) // 2, len(whole) - 1):
            with pytest.raises(AnswerError):
                read_answer(whole[:length], MemoryItems)
