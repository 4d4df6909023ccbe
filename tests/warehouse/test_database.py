import threading
import time
from functools import partial

import duckdb
import pytest

from warehouse import BusyError, DamagedError, connect, copied, only

HOLD = """
import duckdb
db = duckdb.connect(sys.argv[1])
print("holding", flush=True)
sys.stdin.readline()
db.close()
print("let go", flush=True)
sys.stdin.readline()
"""
DIE = """
import duckdb, os
db = duckdb.connect(sys.argv[1])
db.execute("pragma disable_checkpoint_on_shutdown")
db.execute("create table b as select 2 as x")
print("written", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a person's lock" / "warehouse.duckdb"
    path.parent.mkdir()
    with connect(path) as db:
        db.execute("create table a as select 1 as x; create table b as select 2 as x")
    return path


def rows(db, sql):
    return db.execute(sql).fetchall()


def test_a_new_warehouse_has_its_logs(tmp_path):
    with connect(tmp_path / "new.duckdb") as db:
        assert rows(db, "select count(*) from builds") == rows(db, "select count(*) from dropped") == [(0,)]


def test_times_are_told_in_utc(file):
    for open_database in (connect, partial(connect, file), partial(connect, file, read_only=True)):
        with open_database() as db:
            assert rows(db, "select current_setting('TimeZone')") == [("UTC",)]
            with only(db, []) as (transaction, _):
                assert rows(transaction, "select current_setting('TimeZone')") == [("UTC",)]


def test_a_file_that_this_process_has_open_otherwise_is_not_called_damaged(file):
    with connect(file), pytest.raises(duckdb.Error, match="already"):
        connect(file, read_only=True)


def test_a_name_in_sql_is_never_a_python_variable(file):
    dialogues = [1]
    with connect(file) as db, pytest.raises(duckdb.CatalogException):
        db.execute("select * from dialogues")
    assert dialogues


def test_a_read_only_warehouse_cannot_be_written(file):
    with connect(file, read_only=True) as db, pytest.raises(duckdb.InvalidInputException):
        db.execute("create table c as select 3")


def open_it(path, wait_seconds):
    connect(path, wait_seconds=wait_seconds).close()


def read_it(path, wait_seconds):
    connect(path, read_only=True, wait_seconds=wait_seconds).close()


def copy_it(path, wait_seconds):
    with copied(path, ["a"], wait_seconds=wait_seconds):
        pass


WAYS = [open_it, read_it, copy_it]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_another_process_holds_is_waited_for_and_then_busy(file, meanwhile, way):
    with meanwhile(HOLD, file):
        started = time.monotonic()
        with pytest.raises(BusyError) as error:
            way(file, 0.3)
        assert 0.3 <= time.monotonic() - started < 5
        assert str(error.value) == f"another process has {file} open"


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_another_process_lets_go_in_time_is_opened(file, meanwhile, way):
    with meanwhile(HOLD, file) as process:
        timer = threading.Timer(0.3, process.go_on)
        timer.start()
        way(file, 20)
        timer.join()
        assert process.stdout.readline() == "let go\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_file_is_told_at_once_with_a_way_out_even_in_a_folder_called_lock(file, way):
    file.write_bytes(b"no database at all, " * 1000)
    started = time.monotonic()
    with pytest.raises(DamagedError, match="remove it and its .wal, and build again"):
        way(file, 20)
    assert time.monotonic() - started < 10
    assert file.read_bytes().startswith(b"no database")


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_log_beside_the_file_is_told_with_a_way_out(file, meanwhile, way):
    with connect(file) as db:
        db.execute("drop table b")
    with meanwhile(DIE, file) as process:
        process.kill()
        process.wait()
    log = file.with_name(file.name + ".wal")
    content = bytearray(log.read_bytes())
    content[10:40] = b"\xff" * 30
    log.write_bytes(content)
    with pytest.raises(DamagedError, match="remove it and its .wal"):
        way(file, 1)


def test_what_a_killed_process_had_committed_is_there(file, meanwhile):
    with connect(file) as db:
        db.execute("drop table b")
    with meanwhile(DIE, file) as process:
        process.kill()
        process.wait()
    with connect(file) as db:
        assert rows(db, "from b") == [(2,)]


def test_only_declared_tables_are_seen():
    with connect() as db:
        db.execute("create table a as select 1 as x; create table b as select 2 as x")
        with only(db, ["a"]) as (transaction, main):
            assert rows(transaction, "select x from a") == [(1,)]
            assert main == "memory.main"
            with pytest.raises(duckdb.CatalogException, match="b does not exist"):
                transaction.execute("select x from b")


def test_nothing_declared_is_nothing_seen():
    with connect() as db:
        db.execute("create table a as select 1 as x")
        with only(db, []) as (transaction, _), pytest.raises(duckdb.CatalogException):
            transaction.execute("select x from a")


def test_what_is_written_in_the_transaction_stays_if_it_ends_well(file):
    with connect(file) as db:
        with only(db, ["a"]) as (transaction, main):
            transaction.execute(f"create table {main}.c as select x + 2 as x from a")
        assert rows(db, "from c") == [(3,)]
    with connect(file) as db:
        assert rows(db, "from c") == [(3,)]


def test_nothing_stays_if_it_does_not():
    with connect() as db:
        db.execute("create table a as select 1 as x")

        def fail():
            with only(db, ["a"]) as (transaction, main):
                transaction.execute(f"create or replace table {main}.a as select 9 as x")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert rows(db, "from a") == [(1,)]
        with only(db, ["a"]) as (transaction, _):
            assert rows(transaction, "from a") == [(1,)]


def test_a_copy_holds_what_was_asked_for_and_nothing_else(file):
    with copied(file, ["b"]) as db:
        assert rows(db, "from b") == [(2,)]
        with pytest.raises(duckdb.CatalogException):
            db.execute("from a")


def test_a_copy_goes_when_it_is_done_with_and_one_that_a_killed_process_left_goes_with_the_next(
    file, tmp_path, meanwhile
):
    code = "from pathlib import Path; from warehouse import copied; file = Path(sys.argv[1])\n" + (
        "with copied(file, ['a'], folder=Path(sys.argv[2])): print('copied', flush=True); sys.stdin.readline()"
    )
    folder = tmp_path / "copies"
    folder.mkdir()
    with meanwhile(code, file, folder) as other:
        [left] = folder.iterdir()
        with copied(file, ["a"], folder=folder):
            assert left.exists()  # its process lives
        other.kill()
    assert list(folder.iterdir()) == [left]
    with copied(file, ["a"], folder=folder):
        assert not left.exists()
    assert list(folder.iterdir()) == []


def test_a_copy_leaves_the_file_to_others(file, meanwhile):
    with copied(file, ["a"]) as db:
        with meanwhile(HOLD, file):
            assert rows(db, "from a") == [(1,)]
        db.execute("delete from a")
    with connect(file) as db:
        assert rows(db, "from a") == [(1,)]
