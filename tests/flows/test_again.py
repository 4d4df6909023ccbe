"""`alpsbench build --again`: what was built is built again, and the release with it."""

import re

import duckdb
import pytest

from llm.ledger import NANO, Ending, Intent, Ledger
from warehouse import Home, connect

pytestmark = pytest.mark.slow


def built(shown):
    return re.findall(r"^✓ (\w+):", shown, flags=re.MULTILINE)


def build_times(home):
    with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
        return dict(db.execute("select name, epoch_us(built_at) from builds").fetchall())


def test_a_table_and_all_after_it_are_built_again_and_the_draft_is_written_again(alpsbench, home, hashes_of):
    before, files = build_times(home), hashes_of(home / "releases")
    written = (home / "releases" / "draft").stat().st_ino

    shown = alpsbench.succeed("build", "--home", home, "--again", "utilization_items")

    assert built(shown) == ["utilization_items", "leak_checks", "release_rows", "audits"]
    after = build_times(home)
    assert {name for name in after if after[name] > before[name]} == set(built(shown))
    assert hashes_of(home / "releases") == files
    assert (home / "releases" / "draft").stat().st_ino != written
    assert "all 22 tables unchanged" in alpsbench.succeed("build", "--home", home)


def test_tables_that_are_built_again_without_the_release_have_it_written_by_the_next_build(alpsbench, home, hashes_of):
    files, written = hashes_of(home / "releases"), (home / "releases" / "draft").stat().st_ino
    alpsbench.succeed("build", "--home", home, "--again", "audits", "--until", "audits")
    assert (home / "releases" / "draft").stat().st_ino == written

    shown = alpsbench.succeed("build", "--home", home)

    assert built(shown) == []
    assert hashes_of(home / "releases") == files
    assert (home / "releases" / "draft").stat().st_ino != written


def test_a_version_that_is_never_replaced_is_kept_where_its_rows_are_the_same(alpsbench, home, hashes_of):
    alpsbench.succeed("build", "--home", home, "--version", "1.0")
    files, place = hashes_of(home / "releases"), (home / "releases" / "1.0").stat().st_ino

    alpsbench.succeed("build", "--home", home, "--version", "1.0", "--again", "utilization_items")

    assert hashes_of(home / "releases") == files
    assert (home / "releases" / "1.0").stat().st_ino == place


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--again", "memorys"), "--again memorys: no such table; there are conversations, "),
        (("--again", "memories", "--until", "users"), "--again memories: no such table; there are conversations, "),
    ],
)
def test_a_table_that_is_none_is_refused_with_those_there_are(alpsbench, sample_home, words, told):
    refused = alpsbench("build", "--home", sample_home, *words)

    assert refused.returncode == 2
    assert refused.stderr.startswith(f"alpsbench: {told}")


def test_calls_that_others_made_through_the_gateway_are_published_though_there_is_nothing_to_build(alpsbench, home):
    ledger = Ledger(Home(home).ledger)
    with ledger.transaction():
        call = ledger.begin(Intent("k", "fable", "a memory system", "s", "served"))
        assert call is not None
        ledger.end(call, Ending("ok", answer="{}", nano_usd=NANO))

    alpsbench.succeed("build", "--home", home)

    with connect(Home(home).published, read_only=True) as db:
        assert db.execute("select stage, usd from cost_by_stage where usd > 0").fetchall() == [("a memory system", 1.0)]
