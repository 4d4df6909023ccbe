"""Pieces of work on a real Dask cluster, under a real Prefect server."""

import os
import signal
from pathlib import Path

import pyarrow as pa
import pytest

from flows.prefect_server import serving
from flows.recipe import Recipe
from flows.runner import Runner
from flows.tasks import run_flow
from warehouse import BadInputError, Home

pytestmark = pytest.mark.slow


def squares(piece, *, notes, ends=None):
    """Note which process had which piece in hand; the first that has `ends` in hand ends without a word."""
    [number] = piece["number"].to_pylist()
    with (Path(notes) / "notes").open("a") as file:
        file.write(f"{number}\n")
    flag = Path(notes) / "ended"
    if number == ends and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pa.table({"square": [number * number]})


def refuse(piece, **knobs):
    raise BadInputError("the third line is none")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Do work by a cluster's workers: `done(work, numbers, **knobs)`."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.make()
    with serving(home), Runner("dask").staff(home, Recipe()) as staff:

        def do(work, numbers, **knobs):
            def part():
                pieces = (pa.table({"number": [number]}) for number in numbers)
                return list(staff.workers.each(work, pieces, **knobs))

            return run_flow(home, "test", part, staff.task_runner)

        yield do


def test_pieces_come_back_in_their_order(done, tmp_path):
    made = done(squares, range(9), notes=str(tmp_path))

    assert [piece["square"].to_pylist() for piece in made] == [[number * number] for number in range(9)]
    assert sorted((tmp_path / "notes").read_text().split()) == [str(number) for number in range(9)]


def test_no_piece_is_no_work(done, tmp_path):
    assert done(squares, (), notes=str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_lost_costs_the_piece_that_it_had_in_hand(done, tmp_path):
    made = done(squares, range(12), notes=str(tmp_path), ends=4)

    assert [piece["square"].to_pylist() for piece in made] == [[number * number] for number in range(12)]
    begun = (tmp_path / "notes").read_text().split()
    assert begun.count("4") == 2
    assert sorted(begun, key=int) == sorted([*map(str, range(12)), "4"], key=int)


def test_a_users_mistake_that_a_worker_finds_is_told_as_it_is(done):
    with pytest.raises(BadInputError, match="^the third line is none$"):
        done(refuse, range(2))


def test_an_address_where_nobody_answers_is_told(tmp_path):
    home = Home(tmp_path)
    home.make()
    runner = Runner("dask://127.0.0.1:9", str(tmp_path / "shards"))

    with pytest.raises(BadInputError, match="no Dask scheduler answers at"), runner.staff(home, Recipe()):
        pass
