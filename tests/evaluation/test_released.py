import json
import shutil

import pytest

from evaluation.released import open_release, side_of
from evaluation.tracks import SPLITS
from warehouse import BadInputError


def test_rows_are_read_as_they_stand_in_the_files(draft):
    release = draft.release()
    seen = set()
    for split, track in release.places():
        assert list(release.inputs(split, track)) == draft.inputs[split, track.name]
        assert list(release.references(split, track)) == draft.references[split, track.name]
        seen.add((split, track.name))
    assert seen == draft.inputs.keys()


def test_the_key_tells_what_stands_behind_each_row(draft):
    assert list(draft.release().key.values()) == draft.key
    assert all(name == row["benchmark_id"] for name, row in draft.release().key.items())


def test_pool_sizes_come_from_the_manifest(draft):
    assert [track.name for track in draft.release().tracks if track.task == "task3"] == ["task3_d9", "task3_d19"]


def test_the_gold_of_the_held_out_split_alone_is_sealed():
    assert {split: side_of(split) for split in SPLITS} == {
        "examples": "public",
        "dev": "public",
        "validation": "public",
        "test": "sealed",
    }


@pytest.mark.parametrize(
    "manifest", [None, "", '{"tracks": [', "[]", "{}", '{"tracks": [{"task": "task3"}]}', "\ud83d"]
)
def test_a_folder_without_a_sound_manifest_is_no_release(draft, manifest):
    file = draft.write() / "public" / "manifest.json"
    file.unlink() if manifest is None else file.write_bytes(manifest.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadInputError, match=r"is no release: public/manifest\.json is missing or damaged"):
        open_release(draft.folder)


def test_a_folder_that_is_not_there_is_no_release(tmp_path):
    with pytest.raises(BadInputError, match="is no release"):
        open_release(tmp_path / "nothing")


def test_a_release_without_its_sealed_part_can_only_be_read_by_others(draft):
    shutil.rmtree(draft.write() / "sealed")
    with pytest.raises(BadInputError, match="no sealed part: only its maker can audit it"):
        open_release(draft.folder)


FILES = ["public/dev/task1/model_input.jsonl", "sealed/test/task3/d9/reference_output.jsonl", "sealed/key.jsonl"]


@pytest.mark.parametrize("damage", [b'{"benchmark_id": "task1-0', b"\xff\xfe\n", b"\n", None])
@pytest.mark.parametrize("path", FILES)
def test_a_missing_or_damaged_file_is_named_in_one_line(draft, path, damage):
    file = draft.write() / path
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + damage)
    release = open_release(draft.folder)
    with pytest.raises(BadInputError) as error:
        _ = (
            release.key,
            [(list(release.inputs(*place)), list(release.references(*place))) for place in release.places()],
        )
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_the_gold_among_the_public_ones_is_a_stray(draft):
    draft.write()
    assert draft.release().strays() == []
    stray = draft.folder / "public" / "test" / "task1" / "reference_output.jsonl"
    stray.write_text(json.dumps({}))
    assert draft.release().strays() == ["test/task1/reference_output.jsonl"]
