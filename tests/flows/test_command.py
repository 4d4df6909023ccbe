"""What a user can do wrong: each ends in one line and an exit code, and what was there before stays."""

import json
import re
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sources import SAMPLE

MODEL = """
[nobody]
url = "http://127.0.0.1:9/v1"
served_as = "nobody"
"""
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])


@pytest.fixture
def refusal(alpsbench):
    """Run the command, which has to fail as a user may expect it to; give what it says of it."""

    def refusal(*words, code, **settings):
        finished = alpsbench(*words, seconds=180, **settings)
        assert finished.returncode == code, finished.stderr
        [line] = finished.stderr.splitlines()
        assert line.startswith("alpsbench: ")
        assert "Traceback" not in finished.stdout + finished.stderr
        return line.removeprefix("alpsbench: ")

    return refusal


@pytest.fixture
def unchanged(home, hashes_of):
    """Check at the end of a test that tables and release of the home are those from before."""

    def state():
        with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
            names = sorted(name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall())
            tables = {
                name: db.execute(f"select count(*), bit_xor(hash(t)) from {name} as t").fetchall()
                for name in names
                if name != "calls"  # attempts are added there, failed ones too
            }
        return tables, hashes_of(home / "releases"), {path.name for path in home.iterdir()} - {"secret"}

    before = state()
    assert len(before[0]) > 20
    yield
    assert state() == before


# Refused before anything runs


def test_a_source_that_is_not_there_is_refused(refusal, home, unchanged):
    assert refusal("build", "--home", home, "--source", "nowhere", code=2) == "no such file or folder: nowhere"


def test_an_empty_source_is_refused(refusal, home, unchanged):
    assert refusal("build", "--home", home, "--source", "", code=2).startswith("--source is empty")


def test_an_empty_folder_is_refused(refusal, home, unchanged, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()

    assert refusal("build", "--home", home, "--source", folder, code=2) == (
        f"{folder} holds no .parquet, .jsonl or .jsonl.gz file"
    )


def test_an_unknown_key_of_a_recipe_is_refused_with_the_one_that_was_meant(refusal, home, unchanged, tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text("[dialogues]\nminimun = 4\n")

    assert refusal("build", "--home", home, "--recipe", recipe, code=2) == (
        f"{recipe}: unknown key dialogues.minimun; did you mean minimum?"
    )


def test_a_value_out_of_range_is_refused(refusal, home, unchanged):
    assert "splits.test" in refusal("build", "--home", home, "--set", "splits.test=2", code=2)


def test_markup_in_what_was_typed_is_shown_as_it_is(refusal, home):
    assert refusal("build", "--home", home, "--source", "[red]a[/]", code=2) == "no such file or folder: [red]a[/]"


def test_set_without_an_equals_sign_is_refused(refusal, home, unchanged):
    assert refusal("build", "--home", home, "--set", "samples.limit", code=2) == (
        "--set wants a.b=value, not 'samples.limit'"
    )


def test_a_table_that_is_none_is_refused_with_those_there_are(refusal, home, unchanged):
    message = refusal("build", "--home", home, "--until", "memorys", code=2)

    assert message.startswith("--until memorys: no such table; there are conversations, dialogues, users, ")


@pytest.mark.parametrize("version", ["2026/1", "..", "", ".hidden"])
def test_a_version_that_is_no_name_of_a_folder_is_refused(refusal, home, unchanged, version):
    told = refusal("build", "--home", home, "--version", version, code=2)
    assert told == f"--version {version!r}: a version is letters, digits, dots, dashes and underscores"


def test_an_unknown_model_is_refused_with_those_that_are_known(refusal, home, unchanged):
    message = refusal("build", "--home", home, "--set", "models.judge.name=gpt-0", code=6)

    assert message.startswith("unknown model 'gpt-0'; known: offline, ")


def test_a_model_without_its_key_is_refused(refusal, home, unchanged):
    assert refusal("build", "--home", home, "--set", "models.auditor.name=gpt-5.2", code=2) == (
        "the model gpt-5.2 wants its key in OPENAI_API_KEY, which is not set"
    )


def test_a_recording_that_is_not_there_is_refused(refusal, home, unchanged, tmp_path):
    file = tmp_path / "answers.parquet"

    assert refusal("build", "--home", home, "--set", f"models.judge.name=recorded:{file}#a", code=2) == (
        f"no recordings at {file}"
    )


def test_a_recording_of_another_model_is_refused_with_those_it_has(refusal, home, unchanged, tmp_path):
    file = tmp_path / "answers.parquet"
    pq.write_table(pa.table({name: ["b"] for name in ("model", "prompt", "subject", "answer")}), file)

    assert refusal("build", "--home", home, "--set", f"models.judge.name=recorded:{file}#a", code=2) == (
        f"{file} holds no answer of 'a'; it has b"
    )


def test_a_home_that_is_a_file_is_refused(refusal, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")

    for words in (["build"], ["sql", "from funnel"], ["audit"]):
        refusal(*words, "--home", file, code=2)

    assert file.read_text() == "mine"


def test_another_secret_than_the_homes_is_refused(refusal, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("the first")

    message = refusal("build", "--home", home, "--source", SAMPLE / "conversations.jsonl", code=2)

    assert message.startswith(f"ALPSBENCH_SECRET is not the secret that {home} was built with")


@pytest.mark.parametrize("query", ["selec 1", "from nowhere", "select nothing from funnel", "", "select 1; selec"])
def test_sql_with_an_error_is_refused(refusal, sample_home, query):
    refusal("sql", query, "--home", sample_home, code=2)


@pytest.mark.parametrize("query", ["drop table funnel", "delete from memories", "create table t as select 1"])
def test_sql_changes_nothing(refusal, home, unchanged, query):
    assert "read-only" in refusal("sql", query, "--home", home, code=2)


@pytest.mark.parametrize("words", [["sql", "from funnel"], ["trace", "m1"], ["audit"]])
def test_looking_before_anything_is_built_is_refused_and_makes_nothing(refusal, tmp_path, words):
    refusal(*words, "--home", tmp_path / "none", code=2)

    assert not (tmp_path / "none").exists()


def test_an_id_that_nothing_has_is_refused(refusal, sample_home):
    assert "m0123" in refusal("trace", "m0123", "--home", sample_home, code=2)


def test_a_release_that_is_not_there_is_refused(refusal, sample_home):
    assert "is no release" in refusal("audit", "9.9", "--home", sample_home, code=2)


def test_a_release_whose_gold_was_changed_fails_its_audit_by_name(refusal, home):
    [file] = (home / "releases" / "draft" / "sealed" / "test" / "task3" / "d5").iterdir()
    rows = file.read_text().splitlines()
    file.write_text("\n".join(rows[1:]) + "\n")

    message = refusal("audit", "--home", home, code=8)

    assert "rows_conserved" in message
    assert json.loads(rows[0])["benchmark_id"] in message


# Refused by a stage, after others ran


@pytest.mark.slow
def test_a_parquet_file_without_the_columns_is_refused_by_their_names(refusal, home, unchanged, tmp_path):
    file = tmp_path / "some.parquet"
    pq.write_table(pa.table({"conversation_hash": ["a"], "model": ["b"], "conversation": ["c"]}), file)

    assert refusal("build", "--home", home, "--source", file, code=2).startswith(
        "some.parquet lacks the columns timestamp, hashed_ip"
    )


@pytest.mark.slow
def test_a_file_that_is_no_parquet_is_refused_by_its_name(refusal, home, unchanged, tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "one.parquet").write_text("PAR1 or not")

    assert refusal("build", "--home", home, "--source", tmp_path / "shards", code=2) == (
        "one.parquet is no Parquet file, or it is damaged"
    )


@pytest.mark.slow
def test_a_parquet_file_with_nothing_but_text_that_is_no_utf8_leaves_nothing(refusal, home, unchanged, tmp_path):
    text = pa.array([b"\xff\xfe"]).view(pa.string())
    messages = pa.StructArray.from_arrays([pa.array(["user"]), text], names=["role", "content"])
    columns = {name: ["x"] for name in ("conversation_hash", "model", "timestamp", "hashed_ip")}
    table = pa.table({**columns, "conversation": pa.ListArray.from_arrays([0, 1], messages)})
    pq.write_table(table, tmp_path / "bad.parquet")

    told = refusal("build", "--home", home, "--source", tmp_path / "bad.parquet", code=9)

    assert told == "nothing is left for the table conversations: 1 not utf8"


@pytest.mark.slow
def test_a_model_that_nobody_answers_for_is_told_by_name_and_address(refusal, home, unchanged, tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(MODEL)

    message = refusal(
        *("build", "--home", home, "--set", "models.extractor.name=nobody"), code=6, ALPSBENCH_CATALOGUE=catalogue
    )

    assert message.startswith("nobody cannot be reached at http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_a_row_without_a_conversation_is_dropped_and_the_build_goes_on(alpsbench, tmp_path):
    columns = {
        "conversation_hash": ["a", "b"],
        "model": ["m", "m"],
        "timestamp": ["2023-04-09 00:00:00", "2023-04-09 00:00:00"],
        "hashed_ip": ["x", "x"],
        "conversation": pa.array(
            [None, [{"role": "user", "content": f"Hello {n}"} for n in range(6)]], pa.list_(MESSAGE)
        ),
    }
    pq.write_table(pa.table(columns), tmp_path / "two.parquet")
    home = tmp_path / "home"

    shown = alpsbench.succeed("build", "--home", home, "--source", tmp_path / "two.parquet", "--until", "dialogues")

    assert re.search(r"conversations: 1 rows?, 1 dropped", shown)
    assert "no_conversation" in alpsbench.succeed("sql", "from drop_reasons", "--home", home)
    assert "two.parquet:0" in alpsbench.succeed("sql", "from dropped", "--home", home)


# Two at once


def wait_for(file, seconds=120):
    deadline = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_while_a_build_runs_others_look_at_what_is_there_and_a_second_build_says_so(alpsbench, refusal, tmp_path):
    home = tmp_path / "home"
    build = alpsbench.start("build", "--home", home)
    wait_for(home / "alpsbench.duckdb")

    assert refusal("build", "--home", home, code=3).startswith(f"another build is running in {home}")
    seen = set()
    while build.poll() is None:
        shown = alpsbench.succeed("sql", "select count(*) from funnel", "--home", home, seconds=60)
        seen.add(int(shown.split()[-1]))
        time.sleep(0.2)

    output, errors = build.communicate()
    assert build.returncode == 0, errors
    assert "22 tables built" in output
    # The funnel grows flow by flow: no answer between two publications is wrong, and none fails.
    assert seen <= {0, 9, 12, 21, 22}
    assert len(seen) >= 2


@pytest.mark.slow
def test_without_a_home_everything_is_in_the_folder_benchmark(alpsbench):
    alpsbench.succeed("build", "--until", "users")

    home = alpsbench.folder / "benchmark"
    assert (home / "data_docs" / "index.html").exists()
    assert "users" in alpsbench.succeed("sql", "from funnel")


def test_a_released_file_that_was_changed_fails_its_audit_by_name(refusal, home):
    card = home / "releases" / "draft" / "public" / "README.md"
    card.write_text(card.read_text(encoding="utf-8") + "\n", encoding="utf-8")

    told = refusal("audit", "--home", home, code=8)

    assert told == "1 gate failed: files_as_in_manifest of all: 1 rows, at most 0 allowed (public/README.md)"


def test_what_looks_like_an_emoji_is_shown_as_it_is(alpsbench, sample_home):
    assert "root:x:101 :smile:" in alpsbench.succeed("sql", "select 'root:x:101 :smile:' as x", "--home", sample_home)


@pytest.mark.parametrize("command", ["build", "plan", "sql", "trace", "audit", "gateway"])
def test_every_command_tells_what_it_takes(alpsbench, command):
    told = alpsbench.succeed(command, "--help")

    assert "--home" in told
    if command in {"build", "plan"}:
        assert "[@REVISION][/PATH]" in told
