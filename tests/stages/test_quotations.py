import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.quotations import PIECE_CHARACTERS, items_of, read_quotation

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.lists(TEXTS, min_size=1))
def test_a_list_in_json_or_python_is_its_texts(texts):
    assert items_of(json.dumps(texts)) == texts
    assert items_of(json.dumps(texts, ensure_ascii=False)) == texts
    assert items_of(repr(texts)) == texts


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["one", "two, three", "fo', ["one", "two, three", "fo"]),
        ("['one', 'it\\'s two", ["one", "it\\'s two"]),
        ("[“one”, “two”]", ["one", "two”]"]),
        ("[make her braver]", []),
        ("one, two", []),
        ('{"a": "b"}', []),
        ("", []),
    ],
)
def test_of_a_list_that_is_cut_what_is_left_counts_and_brackets_alone_are_none(text, items):
    assert items_of(text) == items


@pytest.mark.parametrize(
    ("text", "wholes", "pieces"),
    [
        (" I live in a village \n", ("I live in a village",), ("I live in a village",)),
        ('["I live in a village"]', ('["I live in a village"]', "I live in a village"), ("I live in a village",)),
        ("I live in a ... small village near Rome", None, ("small village near Rome",)),
        ("so … it [...] was", None, ()),
        ("((a village here))... [it is", None, ("a village here",)),
    ],
)
def test_a_quotation_is_whole_and_in_its_long_pieces(text, wholes, pieces):
    read = read_quotation(text)

    assert read.wholes == (wholes or (text,))
    assert read.pieces == pieces


def test_parts_are_sentences_lines_quotes_and_what_signs_set_apart():
    said = "He asked: 'where is my hat?' | I do not know it. My hat is red; my coat is green"
    parts = (
        "where is my hat",
        "I do not know it",
        "My hat is red",
        "my coat is green",
        "my shoes are old",
        "and my bag too",
    )

    assert set(read_quotation(f"{said} / my shoes are old\nand my bag too").parts) == {*parts}
    assert read_quotation("it's the user's own hat").parts == ("it's the user's own hat",)


@given(st.text(st.sampled_from("ab .…'\"[],|;\n我。"), max_size=60))
def test_whatever_is_read_was_there_the_longest_first(text):
    wholes, pieces, parts = read_quotation(text)

    assert all(whole in text for whole in wholes)
    assert bool(wholes) == bool(text.strip())
    for some in (pieces, parts):
        assert all(len(one) >= PIECE_CHARACTERS and one in text for one in some)
        assert [*map(len, some)] == sorted(map(len, some), reverse=True)
