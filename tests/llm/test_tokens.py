import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.tokens import expected_tokens, most_tokens


@given(st.text(st.characters(exclude_categories=())))
def test_a_tokenizer_of_bytes_makes_no_more_tokens_than_the_ceiling(text):
    assert most_tokens(text) >= len(text.encode("utf-8", "surrogatepass"))
    assert expected_tokens(text) <= most_tokens(text)


@pytest.mark.parametrize(
    ("text", "four_of_ascii_a_token_and_each_other_a_token"),
    [("", 0), ("word", 1), ("word word ", 2.5), ("我住在上海", 5), ("I live in 上海.", 11 / 4 + 2), ("😀😀", 2)],
)
def test_english_and_other_scripts_are_estimated_each_in_its_way(text, four_of_ascii_a_token_and_each_other_a_token):
    expected = four_of_ascii_a_token_and_each_other_a_token
    assert expected <= expected_tokens(text) <= expected + 1


def test_text_that_is_longer_is_not_estimated_shorter():
    texts = ["word " * count + "字" * count for count in range(50)]
    assert [expected_tokens(text) for text in texts] == sorted(expected_tokens(text) for text in texts)
