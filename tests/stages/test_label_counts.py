import pytest

from stages.label_counts import LabelCount, count_labels
from stages.sample_memories import LabelLimits, limits_of
from stages.taxonomy import LABELS, UNMAPPED

PET, FOOD, WISHES = "Possessions/Pet", "Preferences/Food", "Thoughts/Goals/Long_Term"
TABLES = {
    "memories": f"""
        memory_id | label
        ----------|-------
        m1        | {PET}
        m2        | {PET}
        m3        | {PET}
        m4        | {PET}
        m5        | {PET}
        m6        | {FOOD}
        m7        | {FOOD}
    """,
    "sample_memories": """
        memory_id | dialogue_id | sample_rank::integer
        ----------|-------------|---------------------
        m1        | d1          | 1
        m2        | d1          | 1
        m6        | d2          | 2
    """,
}
DROPPED = """
    insert into dropped values
        ('sample_memories', 'm3', 'label_cap', null), ('sample_memories', 'm4', 'near_duplicate_memory', 'm1'),
        ('sample_memories', 'm5', 'context_role_play', null), ('sample_memories', 'm7', 'other_dialogue_of_user', 'd2'),
        ('memories', 'm6', 'rejected', null)
"""


@pytest.fixture
def counted(given):
    def count(**limits):
        db = given(**TABLES)
        db.execute(DROPPED)
        return count_labels(
            db, limits_of(**{"label_cap": 9, "label_caps": {}, "label_floor": 0, "label_floors": {}} | limits)
        )

    return count


def test_each_label_is_counted_as_extracted_eligible_selected_and_by_samples(counted):
    counts = counted()

    assert counts[:2] == [
        LabelCount(PET, LabelLimits(9, 0), extracted=5, eligible=3, selected=2, samples=1),
        LabelCount(FOOD, LabelLimits(9, 0), extracted=2, eligible=2, selected=1, samples=1),
    ]


def test_a_label_that_no_memory_has_is_counted_too(counted):
    counts = counted(label_floor=3)

    assert sorted(one.label for one in counts) == sorted((*LABELS, UNMAPPED))
    assert {one[2:] for one in counts[2:]} == {(0, 0, 0, 0)}


def test_a_label_at_its_cap_or_below_its_floor_is_remarked(counted):
    counts = counted(label_caps={PET: 2}, label_floors={FOOD: 2, WISHES: 1})

    assert {one.label: one.remark for one in counts if one.remark} == {
        PET: "at cap 2",
        FOOD: "below floor 2",
        WISHES: "below floor 1",
    }


def test_a_label_that_had_no_more_than_its_cap_is_not_at_it():
    assert LabelCount(PET, LabelLimits(3, 0), extracted=9, eligible=3, selected=3, samples=3).remark == ""
