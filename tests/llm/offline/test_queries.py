import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.offline.queries import TEMPLATES, write_query
from llm.words import leaked_words

ABILITIES = ["retrieval", "PA", "PF_general", "PF_interaction", "VRA", "CF", "EI"]
LABELS = {
    "Personal_Background": "Identity Education Occupation Location",
    "States_Experiences": "Physical_State Mental_State Past_Experience",
    "Possessions": "Important_Items Pet House Car",
    "Preferences": "Food Entertainment Sports Reading Music Travel_Mode Shopping Interaction_Preferences",
    "Thoughts": "Opinions/Positive Opinions/Negative Curiosity Goals/Short_Term Goals/Long_Term",
    "Plans": "Schedule Commitments",
    "Social_Relationships": "Family Friends Colleagues Partners Adversarial",
    "Constraints_and_Boundaries": "Disliked_Topics Sensitive_Topics Do_Not_Remember",
}
TAXONOMY = [f"{domain}/{aspect}" for domain, aspects in LABELS.items() for aspect in aspects.split()]
SAMPLES = [
    ("Preferences/Music", "Likes jazz and old blues records", "English"),
    ("Possessions/Pet", "Owns a male dachshund named Dude", "English"),
    ("Personal_Background/Occupation", "Works as a nurse on night shifts in a hospital", "English"),
    ("Thoughts/Curiosity", "Sustained curiosity about Roman roads and aqueducts", "English"),
    ("Preferences/Food", "用户不吃香菜，喜欢清淡的粤菜", "Chinese"),
    ("Thoughts/Goals/Long_Term", "计划三年内考上研究生", "Chinese"),
    ("Personal_Background/Location", "Vive en Sevilla con su hermana", "Spanish"),
    ("Preferences/Reading", "Prefiere las novelas policíacas", "Spanish"),
]


def memory(label="Preferences/Music", value="Likes jazz", language="English", **changed):
    return {
        "memory_id": "mem_1",
        "type": "direct",
        "label": label,
        "value": value,
        "confidence": 0.95,
        "evidence_text": value,
        "emotion": None,
        "context": "self",
        "language": language,
    } | changed


def ask(ability="retrieval", attempt=0, finding=(), **fields):
    return write_query({"ability": ability, "memory": memory(**fields), "attempt": attempt, "finding": list(finding)})


@pytest.mark.parametrize("language", ["English", "Chinese", "Spanish"])
@pytest.mark.parametrize("ability", ABILITIES)
def test_every_label_has_a_query_and_a_sealed_side_in_its_language(ability, language):
    for label in [*TAXONOMY, "UNMAPPED", "Preferences/Outside_The_Taxonomy"]:
        written = ask(ability, label=label, value="xyzzy", language=language)
        assert written["query"]
        assert "xyzzy" in written["reference_answer"]
        assert "xyzzy" in written["rubric"]
        assert all(bool(re.search("[\u4e00-\u9fff]", text)) == (language == "Chinese") for text in written.values())


def test_every_label_of_the_taxonomy_has_its_own_four_templates_or_more():
    assert set(TEMPLATES["labels"]) == {*TAXONOMY, "UNMAPPED"}
    for lines in TEMPLATES["labels"].values():
        assert set(lines) == {"English", "Chinese", "Spanish"}
        assert all(len(set(texts)) >= 4 for texts in lines.values())


def test_no_english_template_names_its_label():
    for label, lines in TEMPLATES["labels"].items():
        named = label.rsplit("/", 1)[-1].replace("_", " ")
        assert [line for line in lines["English"] if leaked_words(line, named, language="English")] == []


@pytest.mark.parametrize(("label", "value", "language"), SAMPLES)
@pytest.mark.parametrize("ability", ABILITIES)
def test_four_attempts_share_no_word_with_the_memory_and_differ(ability, label, value, language):
    queries = [ask(ability, n, label=label, value=value, language=language)["query"] for n in range(4)]
    assert all(leaked_words(query, value, language=language) == [] for query in queries)
    assert len(set(queries)) == 4


def test_where_every_template_overlaps_the_one_with_the_least_overlap_is_taken():
    lines = TEMPLATES["labels"]["Preferences/Music"]["English"]
    query = ask(value=" ".join(lines) + " " + " ".join(TEMPLATES["remarks"]["English"]))["query"]
    assert query in lines


def test_a_query_does_not_repeat_the_words_found_before():
    first = ask()["query"]
    finding = [word for word in re.findall(r"\w+", first) if len(word) > 4]
    assert not set(finding) & set(re.findall(r"\w+", ask(finding=finding)["query"]))


@pytest.mark.parametrize(
    ("emotion", "tone"),
    [("lonely", "sad"), ("frustration", "angry"), ("焦虑", "anxious"), ("orgullo", "happy"), (None, "other")],
)
def test_the_situation_has_the_tone_of_the_emotion(emotion, tone):
    assert ask("EI", emotion=emotion)["query"] in TEMPLATES["feelings"][tone]["English"]


def test_a_language_without_templates_reads_english():
    assert re.search("[A-Za-z]", ask(value="Живёт в Казани", language="Russian")["query"])


@given(st.text(), st.text(), st.text(), st.sampled_from(ABILITIES), st.lists(st.text()), st.integers(0, 50))
@settings(deadline=None)
def test_arbitrary_text_never_crashes_and_is_answered_alike(value, label, language, ability, finding, attempt):
    fields = {"value": value, "label": label, "language": language, "emotion": value, "evidence_text": label}
    assert ask(ability, attempt, finding, **fields) == ask(ability, attempt, finding, **fields)


def test_a_thousand_queries_take_less_than_three_seconds():
    start = time.perf_counter()
    for number in range(1000):
        ask(memory_id=str(number), value=f"Likes jazz number {number}")
    assert time.perf_counter() - start < 3
