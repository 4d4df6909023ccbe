from pathlib import Path

import pytest

from evaluation.tracks import ABILITIES, HELD_OUT, SPLITS, tracks_of

FOLDERS = {
    "task1": "task1",
    "task2": "task2",
    "task3_d100": "task3/d100",
    "task3_d300": "task3/d300",
    "task3_d500": "task3/d500",
    "task3_d700": "task3/d700",
    "task3_d1000": "task3/d1000",
    "task4_ability1": "task4_ability1",
    "task4_ability2": "task4_ability2",
    "task4_ability3": "task4_ability3",
    "task4_ability4": "task4_ability4",
    "task4_ability5": "task4_ability5",
}


def test_the_published_sizes_give_the_twelve_tracks_in_their_folders():
    assert {track.name: track.folder for track in tracks_of((100, 300, 500, 700, 1000))} == FOLDERS


def test_other_sizes_give_tracks_of_their_names():
    tracks = [track for track in tracks_of((4, 9)) if track.task == "task3"]
    assert [(track.name, track.distractors, track.level) for track in tracks] == [
        ("task3_d4", 4, 0),
        ("task3_d9", 9, 1),
    ]


def test_only_task_3_has_distractors():
    assert {track.task for track in tracks_of((4,)) if track.distractors} == {"task3"}


def test_every_kind_of_target_is_in_one_task():
    tracks = tracks_of((4, 9))
    kinds = {kind: {track.task for track in tracks if kind in track.kinds} for track in tracks for kind in track.kinds}
    expected = {"extraction": {"task1"}, "update": {"task2"}, "retrieval": {"task3"}}
    assert kinds == expected | {kind: {"task4"} for kind in ABILITIES}


@pytest.mark.parametrize(
    ("kind", "track"),
    [
        ("PA", "task4_ability1"),
        ("PF_general", "task4_ability2"),
        ("PF_interaction", "task4_ability2"),
        ("VRA", "task4_ability3"),
        ("CF", "task4_ability4"),
        ("EI", "task4_ability5"),
    ],
)
def test_an_ability_is_in_its_published_track(kind, track):
    assert [one.name for one in tracks_of((4,)) if kind in one.kinds] == [track]


def test_no_two_tracks_share_a_folder():
    folders = [Path(track.folder) for track in tracks_of((1, 2, 3))]
    assert len(set(folders)) == len(folders)


def test_one_of_the_four_splits_is_held_out():
    assert SPLITS == ("examples", "dev", "validation", "test")
    assert HELD_OUT == "test"
