import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.words import content_words, leak_share, leaked_words, locate_content_words

LANGUAGES = st.sampled_from(["English", "Chinese", "Spanish", "Russian", "Thai", "Klingon", ""])


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("The user doesn't like running", "English", {"run"}),
        ("Lily’s 12 cats", "English", {"lili", "12", "cat"}),
        ("Le gusta la música clásica", "Spanish", {"music", "clasic"}),
        ("musica clasica", "Spanish", {"music", "clasic"}),
        ("用户喜欢爵士乐", "Chinese", {"爵士", "士乐"}),
        ("养了一只猫", "Chinese", {"养", "猫"}),
        ("likes the 爵士乐", "Chinese", {"爵士", "士乐"}),
        ("L'amie de Paris", "French", {"ami", "paris"}),
        ("AI research", "English", {"ai", "research"}),
        ("ＪＡＺＺ", "English", {"jazz"}),
        ("", "English", set()),
    ],
)
def test_content_words_are_the_stems_without_stop_words(text, language, expected):
    assert content_words(text, language) == expected


def test_words_shared_with_any_text_leak_by_their_stem():
    query = "Which jazz concerts in 2024?"
    assert leaked_words(query, "Likes concert halls", "born 2024", language="English") == ["2024", "concert"]


def test_a_share_counts_the_words_of_the_value():
    assert leak_share("Any jazz tonight?", "Likes jazz and poetry", "English") == 0.5
    assert leak_share("Any jazz tonight?", "the of and", "English") == 0.0


def test_a_word_says_where_it_stands():
    text = "Ella toca música"
    assert [text[word.start : word.end] for word in locate_content_words(text, "Spanish")] == [
        "toca",
        "música",
    ]


@given(st.text(), st.text(), LANGUAGES)
@settings(deadline=None)
def test_any_text_has_words_within_it_and_a_share_between_0_and_1(query, value, language):
    assert all(query[word.start : word.end].strip() for word in locate_content_words(query, language))
    assert 0.0 <= leak_share(query, value, language) <= 1.0
    assert leaked_words(query, value, language=language) == leaked_words(value, query, language=language)
    assert leak_share(query, query, language) == (1.0 if content_words(query, language) else 0.0)
