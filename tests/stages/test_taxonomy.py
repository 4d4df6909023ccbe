import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.taxonomy import CONFIDENCES, LABELS, UNMAPPED, confidence_of, label_of, type_of


def test_there_are_34_labels_in_8_domains():
    assert len(set(LABELS)) == 34
    assert len({label.split("/")[0] for label in LABELS}) == 8


@given(st.sampled_from(LABELS), st.sampled_from([str, str.upper, str.lower, str.title]), st.sampled_from("_- "))
def test_a_label_is_told_whatever_its_case_and_its_spaces(label, cased, space):
    assert label_of(f" {cased(label.replace('_', space)).replace('/', ' / ')} ") == label


@given(st.sampled_from(LABELS))
def test_a_label_is_told_by_the_end_of_its_path(label):
    end = label.rpartition("/")[2]
    assert label_of(end) == label


@given(st.sampled_from(LABELS), st.data())
def test_a_label_with_a_letter_twice_is_told(label, data):
    place = data.draw(st.integers(0, len(label) - 1).filter(lambda place: label[place].isalpha()))
    assert label_of(label[:place] + label[place] + label[place:]) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Preferences/Foods", "Preferences/Food"),
        ("Preference/Food", "Preferences/Food"),
        ("Possessions/Pets", "Possessions/Pet"),
        ("Social_Relationship/Friend", "Social_Relationships/Friends"),
        ("Goals/Long-Term", "Thoughts/Goals/Long_Term"),
        ("/Preferences//Food/", "Preferences/Food"),
        ("Constraints & Boundaries/Do Not Remember", "Constraints_and_Boundaries/Do_Not_Remember"),
        ("Interaction_Preferences", "Preferences/Interaction_Preferences"),
        ("Constraints_and_Boundaries/Interaction_Preferences", "Preferences/Interaction_Preferences"),
        ("Plans/Goals/Short_Term", "Thoughts/Goals/Short_Term"),
        ("Preferences/Thoughts/Curiosity", "Thoughts/Curiosity"),
        ("Thoughts/Curiosity/Bread_Baking", "Thoughts/Curiosity"),
        ("Thoughts_Opinions_Negative", "Thoughts/Opinions/Negative"),
        ("Personal_Background/Family", "Social_Relationships/Family"),
        ("Preferences/Car", UNMAPPED),
        ("Preferences/Family", UNMAPPED),
        ("Preferences/Term", UNMAPPED),
        ("Goals", UNMAPPED),
        ("Plans/Schedule/Preferences/Food", UNMAPPED),
        ("Possessions/Cat", UNMAPPED),
        ("Preferences/Mood", UNMAPPED),
        ("Preferences/Books", UNMAPPED),
        ("Thoughts/Goals/Mid_Term", UNMAPPED),
        ("Thoughts/Goals", UNMAPPED),
        ("Social_Relationships/Enemies", UNMAPPED),
        ("Preferences", UNMAPPED),
        ("Food/Preferences", UNMAPPED),
        ("UNMAPPED", UNMAPPED),
        ("", UNMAPPED),
        (" / ", UNMAPPED),
        (None, UNMAPPED),
        ("是", UNMAPPED),
    ],
)
def test_a_near_miss_is_the_label_meant_and_no_other(text, label):
    assert label_of(text) == label


@given(st.text(max_size=30))
def test_any_text_is_a_label_or_unmapped(text):
    assert label_of(text) in (*LABELS, UNMAPPED)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        *(("direct", "direct"), ("Explicit ", "direct"), ("INDIRECT", "indirect"), ("implied", "indirect")),
        *(("implicit", "indirect"), ("inferred", "indirect"), ("", None), ("both", None), ("in direct", None)),
    ],
)
def test_a_type_goes_by_several_names(text, type):
    assert type_of(text) == type


@given(st.floats(-1, 100, allow_nan=False))
def test_a_confidence_is_the_nearest_of_five(number):
    snapped = confidence_of(number, "direct")

    assert snapped in CONFIDENCES
    assert abs(snapped - number) <= min(abs(one - number) for one in CONFIDENCES) + 1e-9


@given(st.floats(-1, 100, allow_nan=False))
def test_nothing_indirect_is_as_sure_as_95(number):
    direct = confidence_of(number, "direct")

    assert confidence_of(number, "indirect") == (0.80 if direct == 0.95 else direct)
