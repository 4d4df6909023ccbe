import hashlib
import json
import os

import pytest

from flows.command import Order
from flows.hub.address import Address
from flows.models import stored
from flows.recipe import ROLES, Recipe
from flows.recipe_file import read_recipe
from flows.sources import SAMPLE, open_source, token_of
from stages.source import files_of
from warehouse import BadInputError, Home


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    return home


def folder_of(path, **files):
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / f"{name}.jsonl").write_text(text)
    return path


def test_a_source_is_its_shards_by_name_size_and_hash(tmp_path, home):
    folder = folder_of(tmp_path / "source", b="bb", a="a")
    folder_of(folder / "deeper", c="")
    (folder / "README.md").write_text("no shard")

    source = open_source(folder, home)

    assert source.identity == [
        ("a.jsonl", 1, hashlib.sha256(b"a").hexdigest()),
        ("b.jsonl", 2, hashlib.sha256(b"bb").hexdigest()),
        ("deeper/c.jsonl", 0, hashlib.sha256(b"").hexdigest()),
    ]


def test_a_source_is_the_same_wherever_it_lies(tmp_path, home):
    here, there = folder_of(tmp_path / "here", a="1"), folder_of(tmp_path / "there", a="1")

    assert open_source(here, home).identity == open_source(there, home).identity


def test_one_file_is_a_source(tmp_path, home):
    folder = folder_of(tmp_path / "source", a="a")

    assert open_source(folder / "a.jsonl", home).identity == open_source(folder, home).identity


def test_the_sample_is_a_source(home):
    [(name, size, digest)] = open_source(SAMPLE, home).identity

    content = (SAMPLE / "conversations.jsonl").read_bytes()
    assert (name, size, digest) == ("conversations.jsonl", len(content), hashlib.sha256(content).hexdigest())


def test_a_file_that_does_not_change_is_read_once(tmp_path, home):
    folder = folder_of(tmp_path / "source", a="a")
    open_source(folder, home)
    [memo] = home.work.glob("*.json")
    known = json.loads(memo.read_text())
    memo.write_text(json.dumps(dict.fromkeys(known, "known")))

    assert [shard.sha256 for shard in open_source(folder, home).shards] == ["known"]


def test_a_file_that_changes_in_place_is_read_again(tmp_path, home):
    folder = folder_of(tmp_path / "source", a="a")
    before = open_source(folder, home).identity
    (folder / "a.jsonl").write_text("b")
    os.utime(folder / "a.jsonl", ns=(1, 1))

    assert open_source(folder, home).identity != before


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": '])
def test_a_damaged_memory_of_hashes_costs_nothing_but_time(tmp_path, home, text):
    folder = folder_of(tmp_path / "source", a="a")
    (home.work / "hashes.json").write_text(text)

    assert open_source(folder, home).identity[0][2] == hashlib.sha256(b"a").hexdigest()


def test_what_cannot_be_read_is_refused(tmp_path, home):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.csv").write_text("a")

    for name, message in {
        "none": f"no such file or folder: {tmp_path}/none",
        "empty": f"{tmp_path}/empty holds no .parquet, .jsonl or .jsonl.gz file",
        "a.csv": f"{tmp_path}/a.csv is neither Parquet (.parquet) nor JSON lines (.jsonl, .jsonl.gz)",
    }.items():
        with pytest.raises(BadInputError) as refused:
            open_source(tmp_path / name, home)
        assert str(refused.value) == message


# Which source is meant

PIN = f"hf://datasets/a/talks@{'1' * 40}"


def recipe_of(path, text):
    path.write_text(text)
    return path


def test_without_a_source_and_a_recipe_the_sample_is_meant_with_its_own_recipe():
    order = Order()

    assert order.place(order.recipe()) == SAMPLE
    assert order.recipe() == read_recipe(SAMPLE / "recipe.toml") != Recipe()


def test_a_recipe_without_a_pin_leaves_the_sample_as_it_was(tmp_path):
    order = Order(recipe_file=recipe_of(tmp_path / "mine.toml", "[samples]\nlimit = 7\n"))

    assert order.place(order.recipe()) == SAMPLE


def test_the_pin_of_a_recipe_is_the_source_where_none_is_given(tmp_path):
    order = Order(recipe_file=recipe_of(tmp_path / "mine.toml", f'[source]\ndataset = "{PIN}"\n'))

    assert order.place(order.recipe()) == Address("a/talks", "1" * 40)


def test_a_pin_that_is_set_brings_no_recipe_of_the_sample():
    order = Order(changes=(f"source.dataset={PIN}",))

    assert order.place(order.recipe()) == Address("a/talks", "1" * 40)
    assert order.recipe().samples == Recipe().samples


@pytest.mark.parametrize("given", ["sample", "talks.jsonl", "hf://datasets/b/others"])
def test_a_source_that_is_given_goes_before_the_pin(tmp_path, given):
    order = Order(given, recipe_of(tmp_path / "mine.toml", f'[source]\ndataset = "{PIN}"\n'))

    place = order.place(order.recipe())

    assert str(place) == (str(SAMPLE) if given == "sample" else given)


@pytest.mark.parametrize("dataset", ["hf://datasets/a/talks", "hf://datasets/a/talks@main", PIN[:-1], PIN + "/@x"])
def test_a_recipe_names_a_commit_or_nothing(dataset):
    with pytest.raises(BadInputError, match=r"has to name a commit|is no dataset of the hub"):
        read_recipe(None, [f"source.dataset={dataset}"])


def test_the_recipe_that_is_kept_names_the_dataset_that_was_read_and_none_else(model_says):
    models = dict.fromkeys(ROLES, model_says({}))
    pinned = Recipe.model_validate({"source": {"dataset": PIN}})

    assert stored(Recipe(), models, PIN).source.dataset == PIN
    assert stored(pinned, models).source.dataset is None


def test_no_file_of_a_folder_is_passed_over_in_silence(tmp_path):
    folder, elsewhere = tmp_path / "source", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "A.JSONL").touch()
    (elsewhere / "b.parquet").touch()
    (folder / "linked").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(folder)

    assert [name for name, _ in files_of(folder)] == ["A.JSONL", "linked/b.parquet"]

    (folder / "c.jsonl").symlink_to(tmp_path / "gone.jsonl")
    with pytest.raises(BadInputError, match=r"c\.jsonl links to nothing"):
        files_of(folder)


@pytest.mark.parametrize(("given", "token"), [(None, None), (" ", None), (" hf_abc\n", "hf_abc")])
def test_a_token_is_sent_without_the_space_around_it(given, token):
    assert token_of(given) == token


@pytest.mark.parametrize("given", ["hf_ä", "hf_a\nb", "hf_a b"])
def test_what_is_no_token_is_refused_and_not_repeated(given):
    with pytest.raises(BadInputError) as refused:
        token_of(given)
    assert given not in str(refused.value)
