import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.offline.extraction import extract

LABELS = {
    *("Personal_Background/" + one for one in ("Identity", "Education", "Occupation", "Location")),
    *("States_Experiences/" + one for one in ("Physical_State", "Mental_State", "Past_Experience")),
    *("Possessions/" + one for one in ("Important_Items", "Pet", "House", "Car")),
    *("Preferences/" + one for one in ("Food", "Entertainment", "Sports", "Reading", "Music", "Travel_Mode")),
    *("Preferences/" + one for one in ("Shopping", "Interaction_Preferences")),
    *("Thoughts/" + one for one in ("Opinions/Positive", "Opinions/Negative", "Curiosity")),
    *("Thoughts/" + one for one in ("Goals/Short_Term", "Goals/Long_Term")),
    *("Plans/" + one for one in ("Schedule", "Commitments")),
    *("Social_Relationships/" + one for one in ("Family", "Friends", "Colleagues", "Partners", "Adversarial")),
    *("Constraints_and_Boundaries/" + one for one in ("Disliked_Topics", "Sensitive_Topics")),
    "Constraints_and_Boundaries/Do_Not_Remember",
}
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            ("I am", "a nurse", "my", "dog", '"', ".", "我", "喜欢", "me gusta", "?", "how do I", "\n", ":", "no")
        ),
        max_size=25,
    ).map(" ".join),
)


def items(*texts, language="English"):
    turns = [message for text in texts for message in (("user", text), ("assistant", "I am a robot."))]
    dialogue = [{"index": i, "role": role, "text": text} for i, (role, text) in enumerate(turns)]
    return extract({"dialogue": dialogue, "language": language})["memory_items"]


def said(*texts, language="English"):
    return {(item["label"], item["value"]) for item in items(*texts, language=language)}


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("I am a nurse on a cardiac ward.", "Personal_Background/Occupation", "Works as a nurse"),
        ("I’m a vet nurse at a clinic.", "Personal_Background/Occupation", "Works as a vet nurse at a clinic"),
        ("I live in Lisbon, near the river.", "Personal_Background/Location", "Lives in Lisbon"),
        ("I'm 34 and tired.", "Personal_Background/Identity", "Is 34 years old"),
        ("I'm studying law at night.", "Personal_Background/Education", "Studies law at night"),
        ("I'm allergic to peanuts!", "States_Experiences/Physical_State", "Is allergic to peanuts"),
        ("i feel so lonely lately", "States_Experiences/Mental_State", "Feels lonely lately"),
        ("I used to climb with my dad.", "States_Experiences/Past_Experience", "Used to climb with their dad"),
        ("My dog Rex is ill.", "Possessions/Pet", "Has a dog named Rex"),
        ("We own a small house in Porto.", "Possessions/House", "Has a small house in Porto"),
        ("I drive a tiny Fiat.", "Possessions/Car", "Drives a tiny Fiat"),
        ("I bought a new telescope.", "Possessions/Important_Items", "Has a new telescope"),
        ("I love grilled sardines.", "Preferences/Food", "Loves grilled sardines"),
        ("I like old country songs too.", "Preferences/Music", "Likes old country songs"),
        ("My favourite book is Emma.", "Preferences/Reading", "Favorite book is Emma"),
        ("I hate marzipan.", "Preferences/Food", "Dislikes marzipan"),
        ("I always travel by train.", "Preferences/Travel_Mode", "Travels by train"),
        ("Please keep your answers short.", "Preferences/Interaction_Preferences", "Prefers short answers"),
        ("I want to become a chef.", "Thoughts/Goals/Long_Term", "Wants to become a chef"),
        (
            "I have an exam on Monday.",
            "Plans/Schedule",
            "Has an exam on Monday",
        ),
        ("My son Tim is seven.", "Social_Relationships/Family", "Their son Tim is seven"),
        ("I'm married.", "Social_Relationships/Partners", "Is married"),
        ("My friend Ann helps.", "Social_Relationships/Friends", "Has a friend named Ann"),
        (
            "Please don't mention baseball.",
            "Constraints_and_Boundaries/Disliked_Topics",
            "Does not want to talk about baseball",
        ),
        (
            "Please leave my divorce out of everything.",
            "Constraints_and_Boundaries/Sensitive_Topics",
            "Does not want their divorce brought up",
        ),
        (
            "Don't remember my address.",
            "Constraints_and_Boundaries/Do_Not_Remember",
            "Asks not to remember their address",
        ),
        (
            "I think legacy games are a waste of cardboard.",
            "Thoughts/Opinions/Negative",
            "Thinks legacy games are a waste of cardboard",
        ),
    ],
)
def test_english_statements_become_memories(text, label, value):
    assert (label, value) in said(text)


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("你好，我是一名护士。", "Personal_Background/Occupation", "职业：护士"),
        ("我住在温哥华，冬天下雨。", "Personal_Background/Location", "住在温哥华"),
        ("我喜歡坐慢車旅行。", "Preferences/Travel_Mode", "喜欢坐慢車旅行"),
        ("我每天晚上都很焦虑。", "States_Experiences/Mental_State", "感到焦虑"),
        ("我养了一只橘猫咪。", "Possessions/Pet", "养了一只橘猫咪"),
        ("我喜欢听老歌。", "Preferences/Music", "喜欢听老歌"),
        ("我不喜欢健身房。", "Preferences/Sports", "不喜欢健身房"),
        ("请不要提体重。", "Constraints_and_Boundaries/Disliked_Topics", "不想谈体重"),
        ("请用表格列出来。", "Preferences/Interaction_Preferences", "偏好用表格呈现"),
    ],
)
def test_chinese_statements_become_memories(text, label, value):
    assert (label, value) in said(text, language="Chinese")


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("Soy enfermera de urgencias.", "Personal_Background/Occupation", "Trabaja como enfermera de urgencias"),
        ("Vivo en Valencia, cerca del mar.", "Personal_Background/Location", "Vive en Valencia"),
        ("Tengo 40 años.", "Personal_Background/Identity", "Tiene 40 años"),
        ("Me siento muy sola.", "States_Experiences/Mental_State", "Se siente sola"),
        ("Me gusta el vallenato viejo, pero poco.", "Preferences/Music", "Le gusta el vallenato viejo"),
        ("Sin emojis, por favor.", "Preferences/Interaction_Preferences", "Prefiere respuestas sin emojis"),
        (
            "No hablemos de política.",
            "Constraints_and_Boundaries/Disliked_Topics",
            "No quiere hablar de política",
        ),
    ],
)
def test_spanish_statements_become_memories(text, label, value):
    assert (label, value) in said(text, language="Spanish")


def test_three_questions_on_one_subject_make_one_curiosity():
    found = items("How long does sourdough rise?", "Does sourdough need salt?", "Which flour suits sourdough best?")
    assert [(item["label"], item["type"], item["confidence"]) for item in found] == [
        ("Thoughts/Curiosity", "indirect", 0.65)
    ]
    assert "sourdough" in found[0]["value"]


def test_five_questions_on_one_subject_are_surer():
    found = items(
        *(f"What should I know about tides in {place}?" for place in ("Kent", "Rome", "Oslo", "Nice", "Cork"))
    )
    assert {item["confidence"] for item in found if item["label"] == "Thoughts/Curiosity"} == {0.80}


def test_the_assistants_words_tell_nothing():
    assert "robot" not in str(said("Hello.", "Thanks."))


def test_questions_about_oneself_are_no_statements():
    assert said("What do I drink up there? Should I love tea?") == set()


def test_code_is_not_read():
    assert said("```\nprint('I am a nurse')\n```") == set()


def test_quoted_statements_stay_candidates_for_the_validator():
    assert ("Personal_Background/Occupation", "Works as a pilot") in said('Translate: "I am a pilot."')


def test_a_list_of_tastes_is_cut_where_the_thought_ends():
    assert ("Preferences/Music", "Loves jazz, blues and folk") in said(
        "I love jazz, blues and folk, but my neighbour is a drummer."
    )


def test_nothing_told_gives_no_memories():
    assert items("Hi", "ok") == []
    assert extract({"dialogue": [], "language": "English"}) == {"memory_items": []}


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=6), st.sampled_from(("English", "Chinese", "Spanish", "French", "")))
def test_every_item_keeps_the_contract_on_any_text(texts, language):
    for item in items(*texts, language=language):
        assert set(item) == {"type", "label", "label_suggestion", "value", "confidence", "evidence_text"}
        assert item["label"] in LABELS | {"UNMAPPED"}
        assert (item["label"] == "UNMAPPED") == (item["label_suggestion"] is not None)
        assert item["confidence"] in ((0.95, 0.80, 0.65, 0.50) if item["type"] == "direct" else (0.80, 0.65, 0.50))
        assert item["value"].strip()
        assert 0 < len(item["evidence_text"]) <= 300
        assert any(item["evidence_text"] in text for text in texts)


@pytest.mark.parametrize("piece", ["I am a ", "my favorite ", "我喜欢", "((((", '"', "word ", "no, ", "I'm so "])
def test_long_and_repetitive_messages_take_no_time(piece):
    started = time.perf_counter()
    items(*[piece * 20_000] * 3)
    assert time.perf_counter() - started < 2


def test_the_same_dialogue_gives_the_same_memories():
    texts = ("I am a nurse and I love tea.", "How do tides work?", "Why are tides late?", "Are tides salty?")
    assert items(*texts) == items(*texts)
