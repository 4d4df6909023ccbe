"""The calls that a plan foresees are those that a build then makes."""

import shutil

import pytest
from loopback_process import Loopback

pytestmark = pytest.mark.slow

CATALOGUE = """
[loopback]
url = "{url}"
served_as = "loopback"

[loopback.price]
input = 1.0
output = 1.0
source = "a drawn price list"
date = 2026-01-01
"""
# The server finds a leak in each query with an x, which no release would withstand.
AUDITED = ("--set", "models.auditor.name=loopback", "--until", "leak_checks")


def counts(shown, stage):
    """Give the known and the new calls of a stage, as a plan shows them."""
    [line] = [line.split() for line in shown.splitlines() if f" {stage} " in line and "loopback" in line]
    return tuple(int(number) for number in line[3:5])


def test_a_build_makes_the_calls_that_were_foreseen_and_then_none(alpsbench, home, tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    with Loopback() as server:
        catalogue.write_text(CATALOGUE.format(url=server.url), encoding="utf-8")

        def run(command, *words):
            return alpsbench.succeed(command, "--home", home, *AUDITED, *words, ALPSBENCH_CATALOGUE=catalogue)

        known, new = counts(run("plan"), "leak_checks")
        assert server.totals()["attempts"] == 0
        built = run("build")

        assert (known, new) == (0, server.totals()["attempts"])
        spent = server.totals()["charged"]
        usd = (spent["prompt_tokens"] + spent["completion_tokens"]) / 1_000_000
        assert f"{new} calls, {new} answered: ${usd:.4f}" in built
        assert run("plan") == "nothing to do: all 20 tables are built\n"

        # Other pools with the same queries, each of which was audited before.
        pools = ("--again", "leak_checks", "--set", "retrieval.distractors=[4, 10, 15, 20, 25]")
        shown = run("plan", *pools)
        assert "distractors: [5, 10, 15, 20, 25] → [4, 10, 15, 20, 25]" in shown
        assert counts(shown, "leak_checks") == (new, 0)
        run("build", *pools)
        assert server.totals()["attempts"] == new


def test_a_plan_of_a_home_that_was_killed_goes_by_the_warehouse(alpsbench, home):
    shutil.copy(home / "alpsbench.duckdb", home / "old.duckdb")
    alpsbench.succeed("build", "--home", home, "--set", "updates.noise_turns=4", "--until", "update_items")
    (home / "alpsbench.duckdb").unlink()
    (home / "old.duckdb").rename(home / "alpsbench.duckdb")

    shown = alpsbench.succeed("plan", "--home", home, "--set", "updates.noise_turns=4", "--until", "update_items")

    assert shown == "nothing to do: all 16 tables are built\n"
