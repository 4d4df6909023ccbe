"""`alpsbench plan` as its users run it: on a home that is built, changed, and not there yet."""

import json
import re
import shutil
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sources import SAMPLE
from warehouse import Home

# Nobody answers there, and there is no key: whoever calls it fails.
CATALOGUE = """
[nobody]
url = "http://127.0.0.1:9/v1"
served_as = "nobody"
key_variable = "NOBODY_SETS_THIS_KEY"

[nobody.price]
input = 2.0
output = 10.0
source = "a drawn price list"
date = 2026-01-01
"""
PROMPT = (SAMPLE.parent / "candidate_memories.prompt.md").read_text(encoding="utf-8")
NOTHING = "nothing to do: all 22 tables are built\n"
HOLD = "import sys, duckdb; db = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.readline()"


@pytest.fixture
def plan(alpsbench, tmp_path):
    """Plan on a home with a model in the catalogue at whose address nobody answers."""
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(CATALOGUE, encoding="utf-8")
    return lambda home, *words: alpsbench.succeed("plan", "--home", home, *words, ALPSBENCH_CATALOGUE=catalogue)


@pytest.fixture
def left_alone(sample_home, hashes_of):
    """Check at the end of a test that all files of the sample's home are as before, but for those of the ledger."""

    def state():
        kept = sorted((path for path in sample_home.glob("*") if path.name != ".build"), key=str)
        files = {path.name: hashes_of(path) if path.is_dir() else path.read_bytes() for path in kept}
        build = {path.name for path in (sample_home / ".build").iterdir() if "ledger" not in path.name}
        return files, build, (sample_home / ".build" / "warehouse.duckdb").read_bytes()

    before = state()
    yield
    assert state() == before


def why(shown):
    """Give the reasons by table; a line that begins with blanks goes on with the table before."""
    reasons = {}
    for line in shown.split("\n\n")[0].splitlines()[1:]:
        if found := re.fullmatch(r"(\w+)  +(\S.*)", line.rstrip()):
            name = found[1]
            reasons[name] = [found[2].strip()]
        elif line.startswith("  "):
            reasons[name].append(line.strip())
    return reasons


def test_where_all_is_built_one_line_says_so(plan, sample_home, left_alone):
    assert plan(sample_home) == NOTHING


def test_a_knob_is_named_with_its_values_and_what_hangs_on_it_by_the_table_before(plan, sample_home, left_alone):
    shown = plan(sample_home, "--set", "updates.noise_turns=4")

    assert why(shown) == {
        "update_items": ["noise_turns: 8 → 4"],
        "release_rows": ["reads update_items, which is rebuilt"],
        "audits": ["reads update_items, which is rebuilt"],
    }
    assert "19 tables are there and unchanged" in shown
    assert re.search(r"generator +update_items +offline-rules +21 +free", shown)
    assert "spent" not in shown


def test_what_only_the_release_is_made_of_is_told_as_that(plan, sample_home, left_alone):
    assert why(plan(sample_home, "--set", "license=mine")) == {
        "audits": ["the recipe, the version, or the code that writes releases changed"]
    }


def test_calls_and_tokens_of_another_model_are_counted_without_calling_it(plan, sample_home, left_alone):
    shown = plan(sample_home, "--set", "models.extractor.name=nobody", "--until", "candidate_memories")

    assert why(shown) == {"candidate_memories": ["extractor: offline → nobody"]}
    [line] = [line.split() for line in shown.splitlines() if line.startswith("extractor")]
    with duckdb.connect(str(sample_home / "alpsbench.duckdb"), read_only=True) as db:
        read = "from dialogues where dialogue_id not in (select member_id from duplicate_dialogues)"
        rows = db.execute(f"select language, turns {read}").fetchall()
    assert line[:5] == ["extractor", "candidate_memories", "nobody", "0", str(len(rows))]
    inputs = [json.dumps({"language": language, "dialogue": turns}, ensure_ascii=False) for language, turns in rows]
    letters = sum(len(text.encode()) for text in inputs) + len(rows) * len(PROMPT)
    # About four bytes a token; each call has a schema of some hundred tokens beside that.
    assert letters / 4 < float(line[5].removesuffix("k")) * 1000 < letters / 3 + 400 * len(rows)
    assert "nobody: $2 a million tokens in, $10 out (a drawn price list, 2026-01-01)" in shown


@pytest.mark.parametrize(
    ("usd", "told"),
    [
        (100, "budget.max_usd, $100.00, suffices\n"),
        (1.5, "budget.max_usd, $1.50, suffices for what is expected, not for the high price\n"),
        (0.01, "budget.max_usd, $0.01, does not suffice: what is expected needs "),
    ],
)
def test_it_says_whether_the_budget_suffices(plan, sample_home, usd, told):
    words = ("--set", "models.auditor.name=nobody", "--set", f"budget.max_usd={usd}")

    assert told in plan(sample_home, *words)


def test_a_table_that_is_to_be_built_again_is_told_as_that(plan, sample_home, left_alone):
    reasons = why(plan(sample_home, "--again", "utilization_items"))

    assert reasons["utilization_items"] == ["asked for by --again"]
    assert reasons["leak_checks"] == ["reads utilization_items, which is rebuilt"]
    assert set(reasons) == {"utilization_items", "leak_checks", "release_rows", "audits"}


def test_a_home_that_is_not_there_is_not_made(plan, tmp_path):
    shown = plan(tmp_path / "none", "--set", "models.extractor.name=nobody")

    assert shown.startswith(f"nothing is built in {tmp_path}/none: all 22 tables are to be\n")
    assert "figures for each 1,000" in shown
    assert "build --until duplicate_dialogues first, which calls no model" in shown
    assert not (tmp_path / "none").exists()


def test_another_source_is_named_and_makes_no_secret(plan, home, tmp_path):
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    columns = {name: ["x"] for name in ("conversation_hash", "model", "timestamp", "hashed_ip")}
    talk = pa.array([[{"role": "user", "content": "Hello"}]], pa.list_(message))
    pq.write_table(pa.table({**columns, "conversation": talk}), tmp_path / "one.parquet")
    recipe = home / "releases" / "draft" / "public" / "recipe.toml"

    reasons = why(plan(home, "--source", tmp_path / "one.parquet", "--recipe", recipe))

    assert reasons["conversations"] == [
        "the source changed: new one.parquet; gone conversations.jsonl",
        "secret changed",
    ]
    assert not (home / "secret").exists()


def test_what_a_build_would_refuse_is_told(plan, home):
    shutil.copytree(home / "releases" / "draft", home / "releases" / "1.0")

    shown = plan(home, "--version", "1.0")

    assert shown.endswith(
        "version 1.0 is released already, and this would change it: a build refuses without another --version\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--until", "memorys"), 2, "--until memorys: no such table; there are conversations, "),
        (("--again", "memorys"), 2, "--again memorys: no such table; there are conversations, "),
        (("--set", "samples.limits=3"), 2, "the recipe: unknown key samples.limits; did you mean limit?"),
        (("--source", "nowhere"), 2, "no such file or folder: nowhere"),
        (("--set", "models.judge.name=gpt-0"), 6, "unknown model 'gpt-0'"),
        (("--version", "a/b"), 2, "--version 'a/b': a version is letters"),
    ],
)
def test_an_order_that_a_build_refuses_is_refused(alpsbench, sample_home, words, code, told):
    finished = alpsbench("plan", "--home", sample_home, *words)

    assert finished.returncode == code
    [line] = finished.stderr.splitlines()
    assert line.startswith(f"alpsbench: {told}")


def test_beside_a_build_it_goes_by_what_was_published(plan, home):
    command = [sys.executable, "-c", HOLD, str(home / ".build" / "warehouse.duckdb")]
    with (
        Home(home).building(),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline()
        shown = plan(home)
        process.communicate("\n")

    assert shown == f"a build is running in {home}: so it was when that last published\n{NOTHING}"
