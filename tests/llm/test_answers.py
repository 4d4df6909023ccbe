import json
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from llm.answers import AnswerError, read_answer
from stages.candidate_memories import MemoryItems

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
@pytest.mark.parametrize("around", ["%s\n%s", "```json\n%s\n```\nor rather\n```json\n%s\n```", "%s%s", "[no] %s, %s"])
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


class Tree(BaseModel):
    """A form that stands inside itself: each part of an answer could be taken for the whole."""

    number: int
    parts: list["Tree"] = []


LEAF, OTHER = '{"number": 1}', '{"number": 2}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"number": 0, "parts": [{LEAF}, {OTHER}',
        f'{{"number": 0, "parts": [{LEAF}',
        f'{{"draft": {LEAF}, "final": ',
        f'{{"draft": {LEAF}, "final": {{"num',
        f'[{LEAF}, {{"number": "',
        f'{{"text": "a cut text with {LEAF} in it',
        f'[[[[{LEAF}]]], "',
        f'Here it is:\n```json\n{{"result": {LEAF}, "more": [\n```',
        f'{{"result": {LEAF}, "more": }}',
        f'{{"result": {LEAF} "more": 1}}',
        f'{{"result": {LEAF},}}',
        f'{{"result": {LEAF}, "more": NaN}}',
        f'{{"result": {LEAF}, more: 1}}',
    ],
)
def test_the_form_inside_a_cut_or_broken_value_is_no_answer(text):
    with pytest.raises(AnswerError):
        read_answer(text, Tree)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"note": nothing, "result": {LEAF}}}',
        f"{{'result': {LEAF}}}",
        f'{{"draft": {LEAF},, "final": {OTHER}}}',
        f"[{LEAF}, nothing, {OTHER}]",
        f'{{"a": {{b: 1}}, "result": {LEAF}}}',
    ],
)
def test_the_form_after_the_break_of_a_broken_value_is_no_answer(text):
    with pytest.raises(AnswerError):
        read_answer(text, Tree)


TREES = st.recursive(
    st.builds(Tree, number=st.integers()),
    lambda inner: st.builds(Tree, number=st.integers(), parts=st.lists(inner, max_size=3)),
    max_leaves=6,
)
PROSE = st.sampled_from(["", "As {you} asked, [1]: ", "```json\n", "Not {'a': 1} but\n", '"quoted" ', '{"a": 1} '])


@settings(deadline=None)
@given(TREES, st.sampled_from([None, 2]), PROSE, st.data())
def test_no_cut_answer_is_read_even_where_its_parts_are_of_the_form(tree, indent, prose, data):
    whole = json.dumps(tree.model_dump(), indent=indent)
    assert read_answer(prose + whole, Tree) == tree
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(AnswerError):
        read_answer(prose + whole[:length], Tree)


PLAIN = st.text(st.characters(exclude_characters="{}[]"))


@given(TREES, PLAIN, PLAIN)
def test_prose_without_braces_does_no_harm_around_an_answer(tree, before, after):
    assert read_answer(f"{before}\n{json.dumps(tree.model_dump())}\n{after}", Tree) == tree
