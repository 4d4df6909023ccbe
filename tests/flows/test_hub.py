"""Datasets of a hub as sources, against a hub on loopback that has them."""

import errno
import io
import os
import random
import re
import shutil
import tomllib
from dataclasses import replace

import pytest
from huggingface_hub import hf_hub_download
from loopback_hub import Dataset, serving_hub, sha256_of
from rich.console import Console

from flows.hub.address import Address, address_of
from flows.hub.errors import error_of
from flows.hub.fetch import fetch
from flows.hub.hub import Hub
from flows.hub.listing import snapshot_of
from flows.hub.meter import meter_of
from flows.sources import SAMPLE, open_source
from warehouse import AlpsbenchError, Home

MIB = 1024 * 1024
FILES = {
    ".gitattributes": b"*.parquet filter=lfs",
    "README.md": b"# a dataset",
    "data/train-0.parquet": b"parquet of a sort",
    "data/train-1.parquet": b"parquet of another sort",
    "data-small/a.jsonl": b"{}\n",
    "extra.jsonl.gz": b"not really compressed",
    "data/notes.csv": b"a,b\n",
}


@pytest.fixture(scope="module")
def started():
    with serving_hub() as (url, hub):
        yield url, hub


@pytest.fixture
def served(started):
    """Give the hub with one dataset, `a/talks`, and nothing that goes wrong."""
    _, hub = started
    hub.__init__()
    hub.datasets["a/talks"] = Dataset()
    hub.datasets["a/talks"].commit(FILES)
    return hub


@pytest.fixture
def hub(served, started, tmp_path):
    return Hub(started[0], token=False, cache=tmp_path / "cache")


@pytest.fixture
def got(hub):
    """Download what an address names: `got("hf://datasets/a/talks")` gives bytes by name, and the pinned address."""

    def got(text, hub=hub):
        snapshot = fetch(Console(file=io.StringIO()), hub, snapshot_of(hub, address_of(text)))
        return {file.name: file.path.read_bytes() for file in snapshot.files}, str(snapshot.address)

    return got


@pytest.fixture
def refusal(got):
    """Give what is said of a download that has to fail."""

    def refusal(text="hf://datasets/a/talks", **more):
        with pytest.raises(AlpsbenchError) as refused:
            got(text, **more)
        assert "\n" not in str(refused.value)
        return refused.value.exit_code, str(refused.value)

    return refusal


def main_of(served):
    return served.datasets["a/talks"].refs["main"]


# Addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("hf://datasets/a/b", Address("a/b")),
        ("hf://datasets/allenai/WildChat-1M@main", Address("allenai/WildChat-1M", "main")),
        ("hf://datasets/a/b@v1.0/data", Address("a/b", "v1.0", "data")),
        ("hf://datasets/a/b/data/*.parquet", Address("a/b", None, "data/*.parquet")),
        ("hf://datasets/a/b@refs/convert/parquet/data", Address("a/b", "refs/convert/parquet", "data")),
        ("hf://datasets/a/b@refs/pr/7", Address("a/b", "refs/pr/7")),
        ("hf://datasets/a/b@mine%2Ftry/x.jsonl", Address("a/b", "mine/try", "x.jsonl")),
    ],
)
def test_an_address_is_read_and_written_the_same(text, address):
    assert address_of(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["hf://", "hf://datasets", "hf://datasets/a", "hf://a/b", "hf://models/a/b", "hf://datasets/a/b@", "s3://x"]
)
def test_what_names_no_dataset_is_refused(text):
    with pytest.raises(AlpsbenchError, match=r"is no dataset of the hub: write hf://datasets/OWNER/NAME\[@REVISION\]"):
        address_of(text)


# Files


def test_all_files_that_can_be_a_source_come_as_they_are_at_the_commit_of_the_branch(got, served):
    files, pinned = got("hf://datasets/a/talks")

    assert pinned == f"hf://datasets/a/talks@{main_of(served)}"
    assert list(files) == ["data-small/a.jsonl", "data/train-0.parquet", "data/train-1.parquet", "extra.jsonl.gz"]
    assert files == {name: FILES[name] for name in files}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("data", ["data/train-0.parquet", "data/train-1.parquet"]),
        ("data/train-1.parquet", ["data/train-1.parquet"]),
        ("data*/*a*-0.parquet", ["data/train-0.parquet"]),
        ("extra.jsonl.gz", ["extra.jsonl.gz"]),
    ],
)
def test_a_folder_a_file_or_a_pattern_of_a_dataset_can_be_meant(got, served, path, names):
    files, pinned = got(f"hf://datasets/a/talks@main/{path}")

    assert list(files) == names
    assert pinned == f"hf://datasets/a/talks@{main_of(served)}/{path}"
    assert not [line for line in served.requests for name in FILES if line.endswith(name) and name not in names]


def test_a_tag_and_a_revision_with_a_slash_are_resolved_like_a_branch(got, served):
    tagged = served.datasets["a/talks"].commit({"a.jsonl": b"tagged"}, "v1")
    tried = served.datasets["a/talks"].commit({"a.jsonl": b"tried"}, "mine/try")

    assert got("hf://datasets/a/talks@v1") == ({"a.jsonl": b"tagged"}, f"hf://datasets/a/talks@{tagged}")
    assert got("hf://datasets/a/talks@mine%2Ftry") == ({"a.jsonl": b"tried"}, f"hf://datasets/a/talks@{tried}")


def test_what_is_pinned_and_in_the_cache_needs_no_network(got, served):
    files, pinned = got("hf://datasets/a/talks")
    served.requests.clear()

    assert got(pinned) == (files, pinned)
    assert got(f"{pinned}/data")[0].keys() == {"data/train-0.parquet", "data/train-1.parquet"}
    assert served.requests == []


def test_a_branch_that_moves_leaves_what_is_pinned_as_it_is(got, served):
    files, pinned = got("hf://datasets/a/talks@main")
    moved = served.datasets["a/talks"].commit({**FILES, "data/train-0.parquet": b"moved on"})

    assert got(pinned) == (files, pinned)
    served.requests.clear()
    later, repinned = got("hf://datasets/a/talks@main")
    assert later["data/train-0.parquet"] == b"moved on"
    assert repinned == f"hf://datasets/a/talks@{moved}"
    # The other large files are the same, and are not sent again.
    assert [line for line in served.requests if "/large/" in line] == [f"GET /large/{sha256_of(b'moved on')}"]


def test_a_pinned_dataset_is_downloaded_at_its_commit_after_the_branch_moved(got, served):
    commit = main_of(served)
    served.datasets["a/talks"].commit({"a.jsonl": b"moved on"})

    files, _ = got(f"hf://datasets/a/talks@{commit}")

    assert files["data/train-0.parquet"] == FILES["data/train-0.parquet"]


def test_a_connection_that_ends_in_the_middle_of_a_file_goes_on_where_it_was(got, served, capfd):
    large = random.Random(1).randbytes(12 * MIB)
    served.datasets["a/talks"].commit({"large.parquet": large})
    served.cuts = [11 * MIB]

    files, _ = got("hf://datasets/a/talks")

    assert files == {"large.parquet": large}
    sent = [line for line in served.requests if "/large/" in line]
    assert sent == [f"GET /large/{sha256_of(large)}", f"GET /large/{sha256_of(large)} bytes={10 * MIB}-"]
    assert capfd.readouterr() == ("", "")


def test_a_connection_that_is_reset_is_begun_anew(got, served):
    large = random.Random(2).randbytes(2 * MIB)
    served.datasets["a/talks"].commit({"large.parquet": large})
    served.cuts = [-MIB]

    assert got("hf://datasets/a/talks")[0] == {"large.parquet": large}


def test_after_a_failure_only_what_is_not_there_yet_is_downloaded(got, refusal, served, hub):
    served.lies = {"data/train-1.parquet": b"short"}
    code, told = refusal()
    assert code == 10
    assert told == (
        f"a file of hf://datasets/a/talks@{main_of(served)} does not come whole from {hub.url}; "
        "run it again to go on: files that are complete are kept"
    )
    served.lies = {}
    served.requests.clear()

    files, _ = got("hf://datasets/a/talks")

    assert files["data/train-1.parquet"] == FILES["data/train-1.parquet"]
    assert not [line for line in served.requests if sha256_of(FILES["data/train-0.parquet"]) in line]


def test_every_byte_is_counted_once_also_over_a_cut(hub, served, tmp_path):
    commit = served.datasets["a/talks"].commit({"large.parquet": bytes(12 * MIB)})
    served.cuts = [11 * MIB]
    told = []

    where = {
        "token": False,
        "repo_type": "dataset",
        "revision": commit,
        "endpoint": hub.endpoint,
        "cache_dir": hub.cache,
    }
    hf_hub_download("a/talks", "large.parquet", tqdm_class=meter_of(told.append), **where)

    assert sum(told) == 12 * MIB


def test_a_terminal_shows_the_file_and_how_much_of_all_is_there(hub, capfd):
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=True, width=120)
    fetch(console, hub, snapshot_of(hub, address_of("hf://datasets/a/talks/data")))

    assert "data/train-1.parquet" in seen.getvalue()
    assert "40/40 bytes" in seen.getvalue()
    assert capfd.readouterr() == ("", "")


# What can be wrong


def test_a_dataset_that_is_not_there_is_refused(refusal, started):
    assert refusal("hf://datasets/a/nothing") == (
        2,
        f"{started[0]} has no dataset a/nothing, or it is private and HF_TOKEN may not read it",
    )


def test_a_name_that_no_dataset_can_have_is_refused(refusal):
    code, told = refusal("hf://datasets/a/--b")
    assert code == 2
    assert told.startswith("hf://datasets/a/--b: ")


@pytest.mark.parametrize("revision", ["no-branch", "0" * 40])
def test_a_revision_that_is_not_there_is_refused(refusal, started, revision):
    told = f"a/talks has no revision {revision}; {started[0]}/datasets/a/talks has all"
    assert refusal(f"hf://datasets/a/talks@{revision}") == (2, told)


def test_a_path_with_nothing_to_read_is_refused(refusal, served):
    assert refusal("hf://datasets/a/talks/data/notes.csv") == (
        2,
        f"hf://datasets/a/talks@{main_of(served)}/data/notes.csv holds no .parquet or .jsonl or .jsonl.gz file",
    )


def test_a_gated_dataset_says_what_to_do_and_comes_with_a_token(got, refusal, served, hub):
    served.datasets["a/talks"].is_gated = True

    assert refusal() == (
        2,
        f"a/talks is gated: accept its terms at {hub.url}/datasets/a/talks, "
        "and give the token of that account as HF_TOKEN",
    )
    files, _ = got("hf://datasets/a/talks", hub=replace(hub, token="good"))
    assert files == {name: FILES[name] for name in files}


def test_a_token_that_is_not_known_is_refused(refusal, hub):
    told = f"{hub.url} does not accept the token in HF_TOKEN"
    assert refusal(hub=replace(hub, token="bad")) == (2, told)


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (403, 2, "does not let the token in HF_TOKEN read a/talks"),
        (500, 10, "answers 500, refused, for hf://datasets/a/talks; run it again"),
        (404, 10, "answers 404, refused, for hf://datasets/a/talks; run it again"),
    ],
)
def test_what_else_a_hub_answers_is_told_by_its_status(refusal, served, status, code, told):
    served.status = status
    exit_code, line = refusal()
    assert exit_code == code
    assert told in line


def test_an_address_where_nobody_answers_is_told_at_once(refusal, hub):
    code, told = refusal(hub=replace(hub, endpoint="http://127.0.0.1:9"))
    assert code == 10
    assert told.startswith("cannot get hf://datasets/a/talks from http://127.0.0.1:9 (")


def test_something_that_is_no_hub_is_told_as_that(refusal, served):
    served.status = 200
    code, told = refusal()
    assert code == 10
    assert "cannot get hf://datasets/a/talks" in told


def test_what_has_no_room_is_not_begun(refusal, served, hub):
    served.sizes = {"data/train-0.parquet": 10**18}
    code, told = refusal()

    assert code == 10
    assert re.match(r"1\.0 EB are to be downloaded, and the disk of the cache \S+ has \S+ \wB left: make room", told)
    assert not [line for line in served.requests if "/large/" in line]


def test_a_disk_that_fills_up_while_a_file_comes_is_told(hub):
    full = error_of(OSError(errno.ENOSPC, "No space left on device"), hub, Address("a/talks"))

    assert (full.exit_code, str(full)) == (
        10,
        f"the disk of the cache {hub.place} is full; run it again to go on: files that are complete are kept",
    )


def test_a_cache_that_cannot_be_written_is_told(refusal, hub, tmp_path):
    (tmp_path / "file").write_text("no folder")

    code, told = refusal(hub=replace(hub, cache=tmp_path / "file"))

    assert code == 10
    assert told.startswith(f"cannot write to the cache {tmp_path}/file: ")


# The shards of a dataset


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    return home


def test_a_dataset_is_the_same_source_as_its_files_in_a_folder(hub, home, tmp_path):
    for name, data in FILES.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    listed = snapshot_of(hub, address_of("hf://datasets/a/talks"))
    fetched = fetch(Console(file=io.StringIO()), hub, listed)

    of_folder = open_source(tmp_path / "folder", home)
    assert open_source(fetched, home).identity == of_folder.identity
    assert [shard.path.read_bytes() for shard in open_source(fetched, home).shards] == [
        FILES[shard.name] for shard in of_folder.shards
    ]
    # Of large files the hub knows the hash before they are here.
    told = {name: sha256 for name, _, sha256 in open_source(listed, home).identity}
    assert told == {
        name: "not known yet" if name == "data-small/a.jsonl" else sha256 for name, _, sha256 in of_folder.identity
    }


def test_a_file_that_is_not_what_the_hub_says_is_refused_until_it_is_removed(hub, home, served, got):
    served.lies = {"data/train-0.parquet": b"PARQUET of a sort"}
    got("hf://datasets/a/talks")
    kept = snapshot_of(hub, address_of(f"hf://datasets/a/talks@{main_of(served)}"))
    assert kept.missing == []

    with pytest.raises(AlpsbenchError) as refused:
        open_source(kept, home)
    blob = next(file.path for file in kept.files if file.name == "data/train-0.parquet").resolve()
    assert str(refused.value) == (
        f"{blob} is not the data/train-0.parquet that the hub has: remove it, and run this again"
    )
    served.lies = {}
    blob.unlink()
    assert got(str(kept.address))[0]["data/train-0.parquet"] == FILES["data/train-0.parquet"]
    hashes = {shard.name: shard.sha256 for shard in open_source(snapshot_of(hub, kept.address), home).shards}
    assert hashes["data/train-0.parquet"] == sha256_of(b"parquet of a sort")


# The command


@pytest.fixture
def command(alpsbench, served, started, tmp_path, monkeypatch):
    """Run the command with a cache of its own and the hub of the test."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
        monkeypatch.delenv(name)
    settings = {"HF_ENDPOINT": started[0], "HF_HOME": tmp_path / "hf", "NO_PROXY": "*"}
    return lambda *words, **more: alpsbench(*words, "--home", tmp_path / "home", **settings, **more)


def test_a_plan_says_what_a_build_would_download_and_downloads_nothing(command, served):
    finished = command("plan", "--source", "hf://datasets/a/talks")

    assert finished.returncode == 0, finished.stderr
    pinned = f"hf://datasets/a/talks@{main_of(served)}"
    first, second, third, *_ = finished.stdout.splitlines()
    assert first == f"hf://datasets/a/talks is now {pinned}; the recipe of the release will name that"
    assert second == f"a build would first download 4 of 4 files (64 bytes) of {pinned}"
    assert third.startswith("nothing is built in ")
    assert not [line for line in served.requests if "/large/" in line or "/resolve/" in line]


def test_a_token_in_the_env_file_opens_what_is_private(command, alpsbench, served):
    served.datasets["a/talks"].is_private = True
    words = ("plan", "--source", "hf://datasets/a/talks")
    assert "has no dataset a/talks" in command(*words).stderr

    (alpsbench.folder / ".env").write_text("HF_TOKEN=good\n")

    finished = command(*words)
    assert finished.returncode == 0, finished.stderr


def test_the_command_line_goes_before_a_pin_of_the_recipe_and_says_so(command, served, tmp_path):
    pin = f"hf://datasets/a/talks@{'1' * 40}"
    recipe = tmp_path / "mine.toml"
    recipe.write_text(f'[source]\ndataset = "{pin}"\n')

    finished = command("plan", "--recipe", recipe, "--source", SAMPLE / "conversations.jsonl")

    assert finished.returncode == 0, finished.stderr
    told = f"--source goes before the recipe: {SAMPLE / 'conversations.jsonl'} is read, not {pin}"
    assert finished.stdout.splitlines()[0] == told
    assert served.requests == []


@pytest.mark.slow
def test_a_release_names_the_commit_and_its_recipe_builds_it_again_from_the_cache_alone(command, served, tmp_path):
    lines = (SAMPLE / "conversations.jsonl").read_bytes()
    commit = served.datasets["a/talks"].commit({"data/talks.jsonl": lines})
    sample = ("--recipe", SAMPLE / "recipe.toml")
    built = command("build", *sample, "--source", "hf://datasets/a/talks")
    assert built.returncode == 0, built.stderr
    recipe = tmp_path / "home" / "releases" / "draft" / "public" / "recipe.toml"
    pinned = f"hf://datasets/a/talks@{commit}"
    assert tomllib.loads(recipe.read_text())["source"] == {"dataset": pinned}
    # The branch moves on, and the hub is not asked.
    served.datasets["a/talks"].commit({"data/talks.jsonl": lines[: len(lines) // 2]})
    served.requests.clear()

    again = command("build", "--recipe", shutil.copy(recipe, tmp_path / "released.toml"))

    assert "all 22 tables unchanged" in again.stdout, again.stdout + again.stderr
    assert served.requests == []
    # From a folder the tables are the same; only the release, whose recipe names the dataset, is another.
    (tmp_path / "folder" / "data").mkdir(parents=True)
    (tmp_path / "folder" / "data" / "talks.jsonl").write_bytes(lines)
    planned = command("plan", *sample, "--source", tmp_path / "folder").stdout
    assert re.search("^audits +the recipe, the version, or the code", planned, re.M)
    assert "21 tables are there and unchanged" in planned
