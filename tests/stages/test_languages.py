import pytest

from stages.languages import NAMES, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Could you help me to write a letter to my landlord about the heating?", "English"),
        ("¿Puedes ayudarme a escribir una carta para mi madre?", "Spanish"),
        ("Können Sie mir bitte bei meiner Steuererklärung helfen?", "German"),
        ("Помоги мне написать письмо хозяину квартиры", "Russian"),
        ("你能帮我写一封信给房东吗？", "Chinese"),
        ("大家にあてた手紙を書くのを手伝ってください", "Japanese"),
        ("집주인에게 보낼 편지 쓰는 것을 도와주세요", "Korean"),
        ("هل يمكنك مساعدتي في كتابة رسالة", "Arabic"),
    ],
)
def test_a_sentence_is_told_by_its_language(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "   ", "1 + 1 = 2", "😀🎉", "?!...", "\x00"])
def test_a_text_without_a_letter_has_no_language(text):
    assert language_of(text) is None


def test_every_language_goes_by_one_english_name():
    assert len(set(NAMES.values())) == len(NAMES)
    assert all(name.isalpha() and name.istitle() for name in NAMES.values())
