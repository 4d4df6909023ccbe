import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.build import Builder, Planner, reading
from stages import conversations
from stages.secret import Secret
from stages.source import Shard, Source
from warehouse import BadInputError, Home, connect


class Silent:
    """Is told what a build does, and says nothing."""

    def starting(self):
        """Say nothing."""

    def started(self, name):
        """Say nothing."""

    def counted(self, name, done, total):
        """Say nothing."""

    def finished(self, name, rows, dropped, seconds):
        """Say nothing."""


@pytest.fixture
def source(tmp_path):
    """Give a source of three conversations, of which the second holds a byte that no text has."""
    said = pa.array([b"one", b"two \xff", b"three"]).view(pa.string())
    messages = pa.StructArray.from_arrays([pa.array(["user"] * 3), said], names=["role", "content"])
    columns = {name: list("xyz") for name in ("conversation_hash", "model", "timestamp", "hashed_ip", "language")}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({**columns, "conversation": pa.ListArray.from_arrays([0, 1, 2, 3], messages)}), path)
    return Source((Shard("a.parquet", path, 1, "0"),), tmp_path / "scratch")


def test_a_row_that_is_no_text_costs_a_build_that_row_and_no_other(tmp_path, source):
    home = Home(tmp_path / "home")
    home.make()
    knobs = {"source": source, "secret": Secret("a home's own")}
    planner = Planner({})
    planner(conversations, **knobs)

    Builder(home, planner.steps, Silent())(conversations, **knobs)

    with connect(home.warehouse) as db:
        kept = db.execute("select conversation_hash, row from conversations").fetchall()
        dropped = db.execute("select stage, item, reason from dropped").fetchall()
        [(rows, drops)] = db.execute("select rows, dropped from builds").fetchall()
    assert kept == [("x", 0), ("z", 2)]
    assert dropped == [("conversations", "a.parquet:1", "not_utf8")]
    assert (rows, drops) == (2, 1)


def test_work_that_goes_well_is_done_once_and_repairs_nothing(source):
    done = []

    assert reading({"source": source}, lambda: done.append("done") or len(done)) == 1
    assert not source.scratch.exists()


def test_a_failure_that_no_source_is_to_blame_for_is_told_as_it_is(tmp_path, source):
    source.repair()

    def fail():
        with connect() as db:
            db.execute("select no_such_column")

    with pytest.raises(duckdb.BinderException, match="no_such_column"):
        reading({"source": source, "minimum": 6}, fail)


def test_a_shard_that_nothing_can_be_read_of_is_told_by_its_name(source):
    source.shards[0].path.write_bytes(b"PAR1 and then nothing")

    def fail():
        raise duckdb.IOException("cannot read")

    with pytest.raises(BadInputError, match=r"a\.parquet is no Parquet file, or it is damaged"):
        reading({"source": source}, fail)


def test_an_interrupted_query_is_an_interrupt():
    def work():
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        reading({}, work)


def test_another_runtime_error_is_what_it_is():
    def work():
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        reading({}, work)
