import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.folding import Place, cuts_word, fold, folded_places, literal_places, unfold, whole_words

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("I'm  HERE, see?!", "imheresee"),
        ("Straße", "strasse"),
        ("ＪＡＺＺ №5", "jazzno5"),
        ("罗马，很久了。", "罗马很久了"),
        ("1+1=2 😀", "1+1=2😀"),
        ("…—“”`´", ""),
    ],
)
def test_folding_leaves_letters_digits_and_signs(text, folded):
    assert fold(text) == folded


@given(TEXTS)
def test_folding_takes_no_notice_of_composition_nor_of_case(text):
    assert fold(unicodedata.normalize("NFD", text)) == fold(
        unicodedata.normalize("NFD", unicodedata.normalize("NFC", text))
    )
    assert fold(text.upper().lower()) == fold(text.upper().lower().upper().lower())


@given(TEXTS, st.data())
def test_letters_are_found_again_where_they_stand(text, data):
    letters = fold(text)
    start = data.draw(st.integers(0, len(letters)))
    end = data.draw(st.integers(start, len(letters)))

    if start < end:
        place = unfold(text, start, end)
        assert 0 <= place.start < place.end <= len(text)
        assert letters[start:end] in fold(text[place.start : place.end])


def test_every_place_is_given_in_order():
    assert [*literal_places("aa", "aaa aa")] == [Place(0, 2), Place(1, 3), Place(4, 6)]
    assert [*folded_places("Ab", "a-b AB")] == [Place(0, 3), Place(4, 6)]
    assert [*literal_places("", "a")] == [*folded_places("?", "a?")] == []


@pytest.mark.parametrize(
    ("text", "start", "end", "cuts", "whole"),
    [
        ("from Miami now", 7, 9, True, "Miami"),
        ("from Miami now", 5, 10, False, "Miami"),
        ("Miami", 0, 5, False, "Miami"),
        ("it's x2y", 6, 7, True, "x2y"),
        ("我住在罗马", 2, 4, False, "在罗"),
        ("из Рима", 4, 7, True, "Рима"),
    ],
)
def test_words_are_cut_only_where_spaces_set_words_apart(text, start, end, cuts, whole):
    place = whole_words(text, Place(start, end))

    assert cuts_word(text, Place(start, end)) is cuts
    assert text[place.start : place.end] == whole
