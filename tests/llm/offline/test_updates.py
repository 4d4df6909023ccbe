import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.offline.updates import TEMPLATES, shorten, write_segments

LANGUAGES = ["English", "Chinese", "Spanish"]
LABELS = list(TEMPLATES["changes"])
DOMAINS = {label.split("/")[0] for label in LABELS}


def write(label="Preferences/Music", value="Likes jazz", language="English", existing=(), turns=8, name="mem_1"):
    memory = {"memory_id": name, "label": label, "value": value, "evidence_text": value, "language": language}
    return write_segments({"memory": memory, "existing": list(existing), "language": language, "noise_turns": turns})


def has_user_and_assistant_in_turn(messages):
    return [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2)


def user_text(segment):
    return [message["text"] for message in segment["dialogue"] if message["role"] == "user"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("label", [*LABELS, "Preferences/Outside_The_Taxonomy"])
def test_every_label_gets_a_new_memory_and_a_changed_one_with_evidence_verbatim(label, language):
    for number in range(20):
        segments = write(label, "xyzzy", language, name=str(number))
        for name in ("update", "conflict"):
            segment = segments[name]
            assert any(segment["memory"]["evidence_text"] in text for text in user_text(segment))
            assert has_user_and_assistant_in_turn(segment["dialogue"])
            assert len(segment["dialogue"]) == 4
            assert not any("{" in message["text"] for message in segment["dialogue"])
            assert segment["memory"]["confidence"] in (0.95, 0.80, 0.65, 0.50)
        assert segments["conflict"]["memory"]["label"] == label
        assert "xyzzy" not in segments["conflict"]["memory"]["value"]
        assert any("xyzzy" in message["text"] for message in segments["conflict"]["dialogue"])
        assert segments["update"]["memory"]["label"] != label
        assert segments["update"]["memory"]["type"] == "indirect"
        assert segments["update"]["memory"]["confidence"] < 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_updates_hold_their_evidence_once_and_obey_the_confidence_rules(language):
    for block in TEMPLATES["updates"][language]:
        assert [turn.count("{evidence}") for turn in block["turns"][::2]].count(1) == 1
        assert "{x}" in block["value"]
        assert "{x}" in block["evidence"]
        assert block["type"] == "direct" or block["confidence"] < 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_templates_to_vary(language):
    assert len(TEMPLATES["noise"][language]["questions"] + TEMPLATES["noise"][language]["facts"]) >= 12
    assert len({block["label"] for block in TEMPLATES["updates"][language]}) >= 16
    for domain in DOMAINS:
        changes = [says for label in LABELS if label.startswith(domain) for says in TEMPLATES["changes"][label]]
        assert len(changes) * len(TEMPLATES["frames"][language]) >= 3
        assert len(TEMPLATES["asks"][domain][language]) >= 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_thousand_items_seldom_look_the_same(language):
    written = [write(language=language, name=str(number)) for number in range(1000)]
    assert len({repr(segments) for segments in written}) > 990


@pytest.mark.parametrize("turns", [0, 2, 4, 8, 30, 80])
def test_noise_has_as_many_messages_as_asked(turns):
    noise = write(turns=turns)["noise"]
    assert len(noise) == turns
    assert has_user_and_assistant_in_turn(noise)


def test_noise_has_one_to_three_facts_and_repeats_no_message():
    facts = {fact for fact, _ in TEMPLATES["noise"]["English"]["facts"]}
    counts = set()
    for number in range(60):
        texts = [message["text"] for message in write(name=str(number))["noise"]]
        assert len(set(texts)) == 8
        counts.add(len(facts & set(texts)))
    assert counts == {1, 2, 3}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_memory_is_not_like_an_existing_one(language):
    blocks = TEMPLATES["updates"][language]
    existing = [block["value"].replace("{x}", choice) for block in blocks[:10] for choice in block["choices"]]
    for number in range(50):
        update = write(existing=existing, language=language, name=str(number))["update"]["memory"]
        assert update["label"] not in {block["label"] for block in blocks[:10]}


def test_the_changed_value_is_not_the_one_the_user_has():
    for _, value in TEMPLATES["changes"]["Possessions/Car"]["English"]:
        assert write("Possessions/Car", value)["conflict"]["memory"]["value"] != value


@pytest.mark.parametrize(
    ("value", "language", "short"),
    [
        ("Likes jazz.", "English", "Likes jazz"),
        ("Prefers concise answers: no lists,\n no code", "English", "Prefers concise answers"),
        (
            "Owns " + "a very old car " * 9,
            "English",
            "Owns a very old car a very old car a very old car a very…",
        ),
        ("不吃香菜，也不吃葱，还有很多别的东西", "Chinese", "不吃香菜，也不吃葱"),
    ],
)
def test_a_long_value_is_quoted_by_its_first_clause(value, language, short):
    assert shorten(value, language) == short


@given(st.text(), st.text(), st.text(), st.lists(st.text(), max_size=4), st.integers(0, 20))
@settings(deadline=None)
def test_arbitrary_text_never_crashes_and_is_answered_alike(value, label, language, existing, turns):
    segments = write(label, value, language, existing, turns)
    assert segments == write(label, value, language, existing, turns)
    assert len(segments["noise"]) == turns
    evidence = segments["conflict"]["memory"]["evidence_text"]
    assert any(evidence in text for text in user_text(segments["conflict"]))
