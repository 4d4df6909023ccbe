import pytest

from evaluation.leaks import Limits, lexical_leak

VALUE, EVIDENCE = "User collects antique maps of rivers", "I've been collecting old river maps since Lisbon"


def leak(query, value=VALUE, evidence=EVIDENCE, language="English", words=1, share=0.5):
    return lexical_leak(query, value, evidence, language, Limits(words, share))


@pytest.mark.parametrize(
    ("query", "words", "leaks"),
    [
        ("What should I hang above my sofa?", [], False),
        ("Which map should I hang above my sofa?", ["map"], False),
        ("Which maps of a RIVER should I hang?", ["map", "river"], True),
        ("Is there a collector of maps in Lisbon?", ["lisbon", "map"], True),
        ("", [], False),
    ],
)
def test_a_query_may_share_one_stem_with_value_and_evidence(query, words, leaks):
    found = leak(query)

    assert (found.words, found.leaks) == (words, leaks)


def test_of_a_short_value_one_word_is_half():
    assert leak("What do my cats eat?", value="User paints cats", evidence="", words=9).share == 0.5
    assert leak("What do my cats eat?", value="User paints cats", evidence="", words=9).leaks
    assert not leak("What do my cats eat?", value="User paints cats", evidence="", words=9, share=0.6).leaks


def test_the_share_counts_the_value_alone():
    assert leak("Anything from Lisbon?").share == 0.0


@pytest.mark.parametrize(("query", "leaks"), [("周末去哪里听爵士乐？", True), ("周末有什么好主意？", False)])
def test_chinese_leaks_by_its_characters(query, leaks):
    assert leak(query, "用户喜欢爵士乐", "我很喜欢爵士乐", "Chinese").leaks is leaks


def test_a_text_of_no_known_language_is_read_like_an_english_one():
    assert leak("Which maps of a river?", language=None).words == ["map", "river"]
