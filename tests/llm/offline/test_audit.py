import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.offline.audit import audit_query
from llm.offline.queries import write_query
from llm.words import content_words


def audit(query, value, evidence="", language="English"):
    return audit_query({"query": query, "memory": {"value": value, "evidence_text": evidence, "language": language}})


@pytest.mark.parametrize(
    ("query", "value", "language", "quote"),
    [
        ("Where can I hear some jazz tonight?", "Likes jazz", "English", "jazz"),
        (
            "Any old blues records for me?",
            "Collects blues records from Chicago bars",
            "English",
            "blues records",
        ),
        ("哪里能听爵士乐？", "用户偏爱爵士乐", "Chinese", "爵士乐"),
        (
            "¿Dónde venden novelas policíacas?",
            "Prefiere la novela policíaca",
            "Spanish",
            "novelas policíacas",
        ),
    ],
)
def test_half_of_the_value_or_two_of_its_words_leak(query, value, language, quote):
    found = audit(query, value, language=language)
    assert found["leaks"]
    assert found["quote"] == quote


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("What should I put on while I tidy up?", "Likes jazz"),
        ("Where do I find records?", "Collects rare blues records"),
        ("", "Likes jazz"),
        ("What can you do for me?", ""),
    ],
)
def test_fewer_words_do_not_leak(query, value):
    found = audit(query, value)
    assert not found["leaks"]
    assert found["quote"] is None


def test_three_words_in_a_row_from_the_evidence_leak():
    found = audit("Is the rusty blue van worth repairing?", "Owns a vehicle", "I drive a rusty blue van to work")
    assert found["leaks"]
    assert found["quote"] == "rusty blue van"
    assert not audit("Is the blue one rusty, van or not?", "Owns a vehicle", "a rusty blue van")["leaks"]


def test_the_offline_query_passes_the_offline_audit():
    memory = {
        "memory_id": "m",
        "label": "Preferences/Food",
        "value": "Cooks Indian dinners for three in half an hour",
        "evidence_text": "I cook Indian every night",
        "emotion": None,
        "language": "English",
    }
    for attempt in range(4):
        query = write_query({"ability": "PA", "memory": memory, "attempt": attempt, "finding": []})["query"]
        assert not audit_query({"query": query, "memory": memory})["leaks"]


@given(st.text(), st.text(), st.text(), st.sampled_from(["English", "Chinese", "Spanish", ""]))
@settings(deadline=None)
def test_arbitrary_text_never_crashes_and_quotes_verbatim(query, value, evidence, language):
    found = audit(query, value, evidence, language)
    assert found["leaks"] == (found["quote"] is not None)
    assert found["quote"] is None or (found["quote"] and found["quote"] in query)
    assert found["reason"]


@given(st.text(), st.sampled_from(["English", "Chinese"]))
@settings(deadline=None)
def test_a_value_copied_into_the_query_leaks_unless_it_says_nothing(value, language):
    assert audit(value, value, language=language)["leaks"] == bool(content_words(value, language))
