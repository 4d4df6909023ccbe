"""What a plan sees of a home, beside builds that run, that were killed, and that are starting."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from flows.build import keep_pieces
from flows.modules import Piece
from flows.planning.standing import standing_in
from llm.ledger import Ledger
from warehouse import BusyError, DamagedError, Home, connect, publish

HOLD = """
import sys, duckdb
db = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    return home


def build(home, name, fingerprint):
    """Write a table and its lines in the log, as a build does."""
    with connect(home.warehouse) as db:
        db.execute(f"create or replace table {name} as select 1 as x")
        row = [name, 1, fingerprint, [], None, 3, 2, 1, 0.5, 0]
        db.execute("insert or replace into builds values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now())", row)
        keep_pieces(db, "main", name, [Piece("knob", "size", "1")])


def publish_all(home):
    publish(home, Ledger().rows())


@contextmanager
def held(home):
    """Have another process write the warehouse, and a build hold the home."""
    command = [sys.executable, "-c", HOLD, str(home.warehouse)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            with home.building():
                yield
        finally:
            process.kill()


def is_free(home):
    """Say whether a build can start."""
    try:
        with home.building():
            return True
    except BusyError:
        return False


def test_nothing_is_built_in_an_empty_home(home):
    with standing_in(home) as standing:
        assert (standing.built, standing.place, standing.is_building) == ({}, None, False)


def test_what_is_published_is_read_there_and_a_build_may_start(home):
    build(home, "people", "a")
    publish_all(home)

    with standing_in(home) as standing:
        assert standing.place == home.published
        assert is_free(home)
        with connect(home.warehouse, wait_seconds=0) as db:
            db.execute("create table more as select 1 as x")

    built = standing.built["people"]
    assert (built.fingerprint, built.seconds, built.rows) == ("a", 0.5, 2)
    assert standing.pieces == {"people": [Piece("knob", "size", "1")]}


def test_what_a_killed_build_left_unpublished_is_read_in_the_warehouse_and_no_build_starts_meanwhile(home):
    build(home, "people", "a")
    publish_all(home)
    build(home, "people", "b")

    with standing_in(home) as standing:
        assert standing.place == home.warehouse
        assert standing.built["people"].fingerprint == "b"
        assert not is_free(home)
    assert is_free(home)


def test_a_table_that_was_built_again_from_the_same_is_not_taken_for_the_published_one(home):
    build(home, "people", "a")
    publish_all(home)
    build(home, "people", "a")

    with standing_in(home) as standing:
        assert standing.place == home.warehouse


def test_while_a_build_writes_what_it_published_last_is_read(home):
    build(home, "people", "a")
    publish_all(home)
    build(home, "people", "b")

    with held(home), standing_in(home) as standing:
        assert (standing.place, standing.is_building) == (home.published, True)
        assert standing.built["people"].fingerprint == "a"


def test_while_a_build_calls_models_what_it_published_last_is_read_too(home):
    build(home, "people", "a")
    publish_all(home)
    build(home, "people", "b")

    with home.building(), standing_in(home) as standing:
        assert (standing.place, standing.is_building) == (home.published, True)


def test_a_first_build_that_has_published_nothing_is_told(home):
    build(home, "people", "a")

    with (
        held(home),
        pytest.raises(BusyError, match="a build is running in .* and has published nothing yet"),
        standing_in(home),
    ):
        pass


def test_a_damaged_warehouse_is_told_with_the_way_out(home):
    home.warehouse.write_bytes(b"no database")

    with pytest.raises(DamagedError, match="remove it and its .wal, and build again"), standing_in(home):
        pass
