"""Writing a release from the tables of a real sample build."""

import json
import shutil

import duckdb
import pytest

from evaluation.tracks import tracks_of
from flows.recipe_file import read_recipe
from flows.release_files import is_released, publish_release, write_draft
from warehouse import Home

pytestmark = pytest.mark.slow

TRACKS = tracks_of((5, 10, 15, 20, 25))


@pytest.fixture
def db(sample_home):
    with duckdb.connect(str(sample_home / "alpsbench.duckdb"), read_only=True) as db:
        yield db


@pytest.fixture
def released(sample_home):
    return sample_home / "releases" / "draft"


@pytest.fixture
def fingerprint(released):
    return json.loads((released / "public" / "manifest.json").read_text())["fingerprint"]


@pytest.fixture
def publish(db, released, fingerprint, tmp_path):
    """Write a draft and publish it in a home of its own."""
    home = Home(tmp_path / "mine")
    home.work.mkdir(parents=True)

    def publish(version="draft"):
        draft = home.work / "drafts" / fingerprint
        write_draft(db, TRACKS, draft)
        recipe = read_recipe(released / "public" / "recipe.toml")
        return publish_release(db, home, draft, version, fingerprint, recipe, TRACKS)

    return publish


def rows_of(folder, hashes_of):
    return {name: digest for name, digest in hashes_of(folder).items() if name.endswith(".jsonl")}


def test_a_draft_that_was_left_half_written_is_written_anew(db, released, tmp_path, hashes_of):
    half = tmp_path / "draft.partial" / "public" / "test" / "task1"
    half.mkdir(parents=True)
    (half / "half.jsonl").write_text('{"benchmark_id":')

    write_draft(db, TRACKS, tmp_path / "draft")

    assert hashes_of(tmp_path / "draft") == rows_of(released, hashes_of)
    assert [path.name for path in tmp_path.glob("draft*")] == ["draft"]


def test_what_is_published_again_is_the_same_byte_for_byte(publish, released, hashes_of):
    place = publish()
    assert hashes_of(place) == hashes_of(released)

    assert publish() == place

    assert hashes_of(place) == hashes_of(released)
    assert [path.name for path in place.parent.iterdir()] == ["draft"]


def test_a_draft_whose_publishing_was_cut_off_is_published_all_the_same(publish, released, tmp_path, hashes_of):
    place = publish()
    # Killed between two renames: the old release is out of its place, the new one is not yet in it.
    draft = (
        tmp_path
        / "mine"
        / ".build"
        / "drafts"
        / json.loads((place / "public/manifest.json").read_text())["fingerprint"]
    )
    shutil.copytree(place, draft)
    place.rename(draft.with_suffix(".old"))

    publish()

    assert hashes_of(place) == hashes_of(released)
    assert not list(draft.parent.iterdir())


def test_versions_of_the_same_things_have_canaries_of_their_own(publish):
    canaries = {
        json.loads((publish(version) / "public" / "manifest.json").read_text())["canary"] for version in ("1.0", "1.1")
    }

    assert len(canaries) == 2


def test_a_release_that_stands_is_known(sample_home, fingerprint):
    assert is_released(Home(sample_home), "draft", fingerprint, TRACKS)
    assert not is_released(Home(sample_home), "draft", "another", TRACKS)
    assert not is_released(Home(sample_home), "1.0", fingerprint, TRACKS)


def add(path):
    path.with_name("more.jsonl").write_text("{}\n")


def change(path):
    path.write_bytes(path.read_bytes().replace(b"a", b"b", 1))


@pytest.mark.parametrize("harm", [change, add, lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize(
    "name", ["public/README.md", "public/dev/task1/model_input.jsonl", "sealed/key.jsonl", "public/manifest.json"]
)
def test_a_release_of_which_a_file_was_changed_does_not_count(released, tmp_path, fingerprint, harm, name):
    home = Home(tmp_path / "mine")
    shutil.copytree(released, home.releases / "draft")

    harm(home.releases / "draft" / name)

    assert not is_released(home, "draft", fingerprint, TRACKS)
