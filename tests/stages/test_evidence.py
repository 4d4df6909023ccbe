import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stages.evidence import Span, find_evidence

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "text": TEXTS}), min_size=1, max_size=6
)


def dialogue(*texts):
    """Messages of user and assistant in turns, the user's first."""
    return [{"role": ("user", "assistant")[i % 2], "text": text} for i, text in enumerate(texts)]


def quoted(quotation, *texts):
    """Find a quotation: message, slice and way."""
    messages = dialogue(*texts)
    span = find_evidence(quotation, messages)
    return span and (span.message, messages[span.message]["text"][span.start : span.end], span.way)


@given(MESSAGES, st.data())
def test_a_verbatim_quotation_of_the_user_is_found_where_its_slice_equals_it(messages, data):
    said = [one["text"] for one in messages if one["role"] == "user"]
    assume(said)
    text = data.draw(st.sampled_from(said))
    start = data.draw(st.integers(0, len(text)))
    quotation = text[start : data.draw(st.integers(start, len(text)))]
    assume(quotation.strip())

    span = find_evidence(quotation, messages)

    assert span is not None
    assert span.way == "exact"
    assert messages[span.message]["role"] == "user"
    assert messages[span.message]["text"][span.start : span.end] == quotation.strip()
    assert not any(quotation.strip() in one["text"] for one in messages[: span.message] if one["role"] == "user")


@given(st.lists(st.sampled_from(string.ascii_letters + string.digits), min_size=3, max_size=30), st.data())
def test_a_quotation_with_other_case_space_and_punctuation_is_found_too(letters, data):
    noise = st.text(" ,.!\n'\"-…“”", max_size=2)
    quotation = "".join(letter.swapcase() + data.draw(noise) for letter in letters)
    text = "".join(letters)

    span = find_evidence(quotation, dialogue("?!", "", f"¿¿: {text}!"))

    assert span is not None
    assert (span.start, span.end) == (4, 4 + len(text))


@given(MESSAGES, TEXTS)
def test_whatever_is_found_lies_within_a_message_of_the_user(messages, quotation):
    span = find_evidence(quotation, messages)

    if span is not None:
        assert messages[span.message]["role"] == "user"
        assert 0 <= span.start < span.end <= len(messages[span.message]["text"])


@pytest.mark.parametrize(
    ("quotation", "text", "slice", "way"),
    [
        ("I live in Rome", "Well, I live in Rome.", "I live in Rome", "exact"),
        ("  I live in Rome\n", "Well, I live in Rome.", "I live in Rome", "exact"),
        ("i live in rome", "Well, I live\nin ROME.", "I live\nin ROME", "normalised"),
        ('"I\'m a nurse"', "Yes: I’m a nurse!", "I’m a nurse", "normalised"),
        ("我住在罗马，很久了", "嗯，我住在罗马,很久了。", "我住在罗马,很久了", "normalised"),
        ("STRASSE", "die Straße dort", "Straße", "normalised"),
        ("ＪＡＺＺ", "I play jazz", "jazz", "normalised"),
        ("live in Rome 😀", "I LIVE in Rome 😀 now", "LIVE in Rome 😀", "normalised"),
        (
            "I moved ... to a village near Rome",
            "I moved last year to a village near Rome",
            "to a village near Rome",
            "piece",
        ),
        ("nothing of it … to a village near Rome", "we went to a village near Rome", "to a village near Rome", "piece"),
    ],
)
def test_a_quotation_is_found_as_it_is_then_normalised_then_by_its_longest_piece(quotation, text, slice, way):
    assert quoted(quotation, "hello", "hello", text) == (2, slice, way)


def test_offsets_count_characters_after_emoji_and_chinese():
    assert find_evidence("cat", dialogue("😀😀 我有 cat")) == Span(0, 6, 9, "exact")


def test_the_earliest_message_of_the_user_counts():
    assert quoted("rome", "no", "rome", "In Rome", "rome", "rome") == (4, "rome", "exact")
    assert quoted("RoMe", "no", "rome", "In Rome", "rome", "rome") == (2, "Rome", "normalised")


@pytest.mark.parametrize(
    ("quotation", "texts"),
    [
        ("I live in Rome", ("hello", "I live in Rome")),
        ("", ("hello",)),
        (" \n", (" \n",)),
        ("?!", ("really",)),
        ("so ... it", ("it is so",)),
        ("I live in Rome", ("I live", "ok", "in Rome")),
        ("I live in Rome", ()),
    ],
)
def test_what_the_user_did_not_say_is_no_evidence(quotation, texts):
    assert quoted(quotation, *texts) is None
