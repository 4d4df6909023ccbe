import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.offline.extraction import extract
from llm.offline.validation import validate


def verdicts(*texts, candidates=None, language="English"):
    dialogue = [{"index": i, "role": "user", "text": text} for i, text in enumerate(texts)]
    if candidates is None:
        candidates = extract({"dialogue": dialogue, "language": language})["memory_items"]
    numbered = [{"number": n, **candidate} for n, candidate in enumerate(candidates)]
    answer = validate({"dialogue": dialogue, "language": language, "candidates": numbered})
    return answer["memories"]


def contexts(*texts, language="English"):
    return {one["value"]: one["context"] for one in verdicts(*texts, language=language)}


def candidate(value="Works as a nurse", evidence="I am a nurse", **changes):
    fields = {"type": "direct", "label": "Personal_Background/Occupation", "label_suggestion": None}
    return {**fields, "value": value, "confidence": 0.95, "evidence_text": evidence, **changes}


def test_what_users_say_of_themselves_is_theirs():
    assert contexts("I am a nurse. Can you write a letter to my landlord about the lift?") == {
        "Works as a nurse": "self"
    }


def test_a_played_part_is_role_play_until_the_user_steps_out():
    found = contexts(
        "Let's role-play. I am a 300-year-old vampire and I own a castle in the mountains.",
        "I am afraid of mirrors.",
        "Out of character: I write crime novels for a living.",
    )
    assert found == {
        "Has a castle in the mountains": "role_play",
        "Is a 300-year-old vampire": "role_play",
        "Feels afraid of mirrors": "role_play",
        "Writes crime novels for a living": "self",
    }


def test_a_part_given_to_the_assistant_leaves_the_user_alone():
    assert contexts("Act as my English teacher. I am a nurse. I live in Lisbon.") == {
        "Works as a nurse": "self",
        "Lives in Lisbon": "self",
    }


def test_a_text_to_translate_is_not_the_users_own():
    found = contexts('Translate into German, please: "I am a pilot." I live in Rome.', "I have two dogs.")
    assert found["Works as a pilot"] == "translation"
    assert found["Has two dogs"] == "self"


def test_a_text_written_in_anothers_voice_is_for_others():
    found = contexts(
        'Write a farewell speech for my adviser, in her voice: "I am a geologist."',
        "Thanks. I hate public speaking.",
    )
    assert found["Works as a geologist"] == "for_others"
    assert found["Dislikes public speaking"] == "self"


def test_chinese_frames_are_told_apart():
    assert contexts("请把这句话翻译成英文：“我是一名船长。”", language="Chinese") == {"职业：船长": "translation"}
    assert contexts("我们来玩角色扮演：我有三个女儿。", "说真的，我住在上海。", language="Chinese") == {
        "有三个女儿": "role_play",
        "住在上海": "self",
    }
    assert contexts("帮我替奶奶写一封信：“我住在苏州。”", language="Chinese") == {"住在苏州": "for_others"}


def test_spanish_frames_are_told_apart():
    found = contexts("Juguemos: soy un capitán pirata.", "Ya en serio, vivo en Lima.", language="Spanish")
    assert found == {"Es un capitán pirata": "role_play", "Vive en Lima": "self"}
    found = contexts('Escribe una carta para mi vecina: "Vivo en Sevilla".', language="Spanish")
    assert found == {"Vive en Sevilla": "for_others"}


def test_what_is_asked_of_the_assistant_is_the_users_even_in_a_scene():
    (one,) = verdicts("Let's role-play. Keep your answers short.")
    assert (one["label"], one["context"]) == ("Preferences/Interaction_Preferences", "self")


@pytest.mark.parametrize(
    "value", ["[ERROR: Not about the user]", "", "  ", "The assistant likes tea", "The character is a nurse"]
)
def test_debris_and_statements_about_others_are_rejected(value):
    (one,) = verdicts("I am a nurse", candidates=[candidate(value)])
    assert one["confidence"] == 0.10


def test_evidence_that_no_user_message_holds_is_rejected():
    (one,) = verdicts("I am a nurse", candidates=[candidate(evidence="My passport number is secret")])
    assert one["confidence"] == 0.10


def test_evidence_quoted_with_small_changes_counts():
    (one,) = verdicts("Well, I am a nurse , now.", candidates=[candidate(evidence="I am a nurse, now...")])
    assert one["confidence"] == 0.95


def test_a_label_outside_the_taxonomy_becomes_the_suggestion():
    (one,) = verdicts("I am a nurse", candidates=[candidate(label="Preferences/Technical_Tools")])
    assert (one["label"], one["label_suggestion"]) == ("UNMAPPED", "Preferences/Technical_Tools")


def test_nothing_indirect_is_as_sure_as_a_statement():
    (one,) = verdicts("I am a nurse", candidates=[candidate(type="implied", confidence=0.95)])
    assert (one["type"], one["confidence"]) == ("indirect", 0.80)


@pytest.mark.parametrize(
    ("text", "emotion"),
    [
        ("I feel so lonely these days.", "lonely"),
        ("I'm terrified of the exam.", "anxious"),
        ("I am so proud of my sister.", "proud"),
        ("I am furious about the noise.", "angry"),
    ],
)
def test_a_feeling_is_named(text, emotion):
    assert verdicts(text)[0]["emotion"] == emotion


def test_a_denied_feeling_is_not_named():
    (one,) = verdicts("I am not afraid", candidates=[candidate("Is calm", "I am not afraid")])
    assert one["emotion"] is None


def test_time_and_attitude_go_by_label_and_words():
    found = {one["value"]: one for one in verdicts("I live in Lisbon.", "I hate marzipan.", "I used to sing.")}
    assert found["Lives in Lisbon"]["time_scope"] == "long_term"
    assert found["Dislikes marzipan"]["preference_attitude"] == "dislike"
    assert found["Used to sing"]["time_scope"] == "past"
    assert found["Lives in Lisbon"]["preference_attitude"] is None


@settings(deadline=None)
@given(
    st.lists(st.text(max_size=80), max_size=4),
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(("direct", "indirect", "implied", "")),
                "label": st.one_of(st.none(), st.text(max_size=20), st.just("Possessions/Pet")),
                "label_suggestion": st.one_of(st.none(), st.text(max_size=20)),
                "value": st.text(max_size=60),
                "confidence": st.one_of(st.none(), st.floats(), st.integers()),
                "evidence_text": st.text(max_size=60),
            }
        ),
        max_size=5,
    ),
)
def test_every_candidate_has_one_verdict_in_form_whatever_it_holds(texts, candidates):
    found = verdicts(*texts, candidates=candidates)
    assert [one["number"] for one in found] == list(range(len(candidates)))
    for one in found:
        assert one["type"] in ("direct", "indirect")
        assert one["confidence"] in (0.95, 0.80, 0.65, 0.50, 0.10)
        assert one["context"] in ("self", "role_play", "translation", "for_others")
        assert one["time_scope"] in ("long_term", "short_term", "recent", "past", "unknown")
        assert one["preference_attitude"] in ("like", "dislike", None)
