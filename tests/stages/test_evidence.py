import string
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stages.evidence import Span, find_evidence, locate

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
        ("'cafe\u0301 cre\u0300me'", "un café crème", "café crème", "normalised"),
        ("'café crème'", "un cafe\u0301 cre\u0300me", "cafe\u0301 cre\u0300me", "normalised"),
        ("Moi, cafe", "moi: cafe\u0301!", "moi: cafe\u0301", "normalised"),
        ('["I live in Rome"]', "I live in Rome.", "I live in Rome", "exact"),
        ('["so it is", "to a village near Rome"]', "so: to a village near Rome", "to a village near Rome", "piece"),
        (
            "['to a village\\nnear Rome', 'never said at all']",
            "to a village near Rome",
            "to a village near Rome",
            "piece",
        ),
        ('["never said at all", "to a village near Ro', "to a village near Rome", "to a village near Ro", "piece"),
        (
            "I moved to a vilage near Rome",
            "Well, I moved to a village near Rome.",
            "I moved to a village near Rome",
            "fuzzy",
        ),
        (
            "我现在一个人住在罗马附近的一个小村子里",
            "嗯，我现在一个人住罗马附近的一个小村子里呢",
            "我现在一个人住罗马附近的一个小村子里",
            "fuzzy",
        ),
        ("We keep two old dogs; more of them", "Yes. we keep two old dogs", "we keep two old dogs", "piece"),
        ("Said twice: 'we keep two old dogs'", "Yes, we keep two old dogs", "we keep two old dogs", "piece"),
    ],
)
def test_a_quotation_is_found_as_it_is_then_normalised_then_by_its_longest_piece(quotation, text, slice, way):
    assert quoted(quotation, "hello", "hello", text) == (2, slice, way)


def test_offsets_count_characters_after_emoji_and_chinese():
    assert find_evidence("cat", dialogue("😀😀 我有 cat")) == Span(0, 6, 9, "exact")


@pytest.mark.parametrize("between", ["", "And where is that?"])
def test_a_quotation_over_two_messages_of_the_user_is_its_longer_part(between):
    first, second = "Hello. I moved last year", "to a village near Rome. Nice, isn't it?"
    texts = (first, between, second)

    assert quoted("I moved last year to a village near Rome", *texts) == (2, "to a village near Rome", "neighbours")
    assert quoted("hello, I moved last year, to a village", *texts) == (0, first, "neighbours")


def test_messages_of_the_user_that_do_not_follow_each_other_are_no_neighbours():
    texts = ("I moved last year", "", "no, wait", "", "to a village near Rome")

    assert quoted("I moved last year to a village near Rome", *texts) is None


def test_of_a_cut_quotation_the_message_that_holds_most_counts():
    texts = ("tell me of a village near Rome", "", "tell me of a village near Rome, and of its old harbour")

    assert quoted("a village near Rome ... its old harbour", *texts) == (2, "a village near Rome", "piece")
    assert quoted("a village near Rome ... its new harbour", *texts) == (0, "a village near Rome", "piece")


WORDS = st.permutations(
    ["harbour", "window", "pickles", "umbrella", "journey", "kitchen", "lantern", "oxygen", "velvet"]
)


@given(WORDS, st.data())
def test_a_quotation_with_one_wrong_letter_is_found_with_the_whole_words_around_it(words, data):
    place = data.draw(st.integers(0, len(words) - 1))
    wrong = [word[:1] + "#é" + word[2:] if number == place else word for number, word in enumerate(words)]
    text = f"Beforehand: {' '.join(words)}, afterwards."

    span = find_evidence(" ".join(wrong), dialogue("Nothing here.", "", text))

    assert span is not None
    assert (span.message, span.way) == (2, "fuzzy")
    assert text[span.start : span.end] == " ".join(words)


@given(MESSAGES, st.data())
def test_it_is_the_same_to_find_composed_and_decomposed_accents(messages, data):
    text = data.draw(st.text("aéïôñçÅ ", min_size=1).filter(str.strip))
    said = [*messages, {"role": "user", "text": unicodedata.normalize("NFD", f"|{text}|")}]

    span = find_evidence(unicodedata.normalize("NFC", text), said)

    assert span is not None
    found = said[span.message]["text"][span.start : span.end]
    assert unicodedata.normalize("NFC", found).split() == text.split()


def test_what_only_the_assistant_said_is_found_as_such():
    messages = dialogue("hello", "You live in ROME", "do I?")

    assert find_evidence("you live in Rome", messages) is None
    assert locate("you live in Rome", messages) == Span(1, 0, 16, "assistant")
    assert locate("do I?", messages) == find_evidence("do I?", messages) == Span(2, 0, 5, "exact")
    assert locate("you live in Oslo now", messages) is None


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
        ("I am", ("from Miami",)),
        ("no more [...] so be it [...] then", ("so be it",)),
        ("We keep two dogs. Their names are Max and Moritz.", ("we keep two dogs",)),
        ("I moved to a village near Rome", ("I sailed to an island near Crete",)),
        ("I live in Roma", ("I live in Rome",)),
    ],
)
def test_what_the_user_did_not_say_is_no_evidence(quotation, texts):
    assert quoted(quotation, *texts) is None
