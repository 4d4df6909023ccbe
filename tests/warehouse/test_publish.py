import stat

import duckdb
import pytest

from llm.attempts import Usage
from llm.ledger import Ending, Intent, Ledger
from warehouse import DamagedError, connect, publish

TABLES = {
    "memories": "memory_id varchar, dialogue_id varchar, user_id varchar, label varchar, type varchar, value varchar,"
    " evidence_text varchar, evidence_message integer",
    "sample_memories": "memory_id varchar, dialogue_id varchar, sample_rank integer, drawn_for varchar",
    "gold_memories": "memory_id varchar",
    "made_of": "name varchar, kind varchar, part varchar, value varchar",
    "conversations": "dialogue_id varchar, conversation_hash varchar, shard varchar, row bigint, source_row varchar",
    "dialogues": "dialogue_id varchar, source_row varchar",
    "release_rows": "benchmark_id varchar, track varchar, split varchar, item_id varchar, memory_id varchar,"
    " dialogue_id varchar, user_id varchar",
}
READ = """
import duckdb
db = duckdb.connect(sys.argv[1], read_only=True)
print("reading", flush=True)
sys.stdin.readline()
print(db.execute("from a").fetchall(), flush=True)
sys.stdin.readline()
"""
WRITE_AND_DIE = """
import duckdb
db = duckdb.connect(sys.argv[1])
db.execute("pragma disable_checkpoint_on_shutdown")
db.execute("create or replace table a as select 666 as x")
print("written", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def calls():
    ledger = Ledger()
    call = ledger.begin(Intent("KEY", "fable", "a_stage", "s", most_nano_usd=5_000_000))
    usage = Usage(prompt=11, cached=3, completion=7, reasoning=2)
    ledger.end(call, Ending("ok", answer="SECRET ANSWER", usage=usage, nano_usd=1_500_000, seconds=0.5))
    ledger.begin(Intent("KEY", "fable", "a_stage", "t", most_nano_usd=5_000_000))
    return ledger.rows


@pytest.fixture
def put(home, calls):
    """Write a table `a` of one number into the warehouse, and publish."""

    def do(number):
        with connect(home.warehouse) as db:
            db.execute(f"create or replace table a as select {number} as x")
        publish(home, calls())

    return do


def fetch(home, sql):
    with duckdb.connect(home.published, read_only=True) as db:
        return db.execute(sql).fetchall()


def names(home, kind):
    return {name for (name,) in fetch(home, f"select {kind}_name from duckdb_{kind}s() where not internal")}


def test_the_published_file_is_a_copy_with_the_calls(home, put):
    put(1)
    assert fetch(home, "from a") == [(1,)]
    assert names(home, "table") == {"a", "builds", "dropped", "calls"}
    tokens = "prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens"
    assert fetch(home, f"select subject, status, way, {tokens}, usd, held_usd, seconds from calls") == [
        ("s", "ok", "live", 11, 3, 7, 2, 0.0015, 0.0, 0.5),
        ("t", "pending", "live", None, None, None, None, None, 0.005, None),
    ]
    assert b"SECRET" not in home.published.read_bytes()
    assert b"KEY" not in home.published.read_bytes()


def test_calls_of_an_empty_ledger_have_their_columns(home, calls):
    connect(home.warehouse).close()
    publish(home, Ledger().rows())
    columns = "select column_name, data_type from duckdb_columns() where table_name = 'calls'"
    empty = fetch(home, columns)
    publish(home, calls())
    assert fetch(home, columns) == empty
    assert ("usd", "DOUBLE") in empty


def test_the_published_file_is_for_reading(home, put):
    for number in (1, 2):
        put(number)
        assert stat.S_IMODE(home.published.stat().st_mode) == 0o444
        assert fetch(home, "from a") == [(number,)]


def test_the_published_file_can_be_read_by_older_clients(home, put):
    put(1)
    [(tags,)] = fetch(home, "select tags::varchar from duckdb_databases() where database_name = 'alpsbench'")
    assert "v1.2.0" in tags


def test_nothing_else_is_left_behind(home, put):
    put(1)
    put(2)
    assert [path.name for path in home.root.iterdir() if path.is_file()] == ["alpsbench.duckdb"]
    assert [path.name for path in home.work.iterdir()] == ["warehouse.duckdb"]


def test_the_warehouse_can_be_written_after_publishing(home, put):
    put(1)
    with connect(home.warehouse) as db:
        db.execute("update a set x = 2")
    assert fetch(home, "from a") == [(1,)]


def test_a_reader_keeps_the_file_that_it_has_open(home, put, meanwhile):
    put(1)
    with meanwhile(READ, home.published) as reader:
        put(2)
        assert fetch(home, "from a") == [(2,)]
        reader.go_on()
        assert reader.stdout.readline() == "[(1,)]\n"


def test_a_log_beside_the_published_file_is_not_replayed_into_the_next(home, put, meanwhile):
    put(1)
    home.published.chmod(0o644)
    with meanwhile(WRITE_AND_DIE, home.published) as process:
        process.kill()
        process.wait()
    log = home.published.with_name("alpsbench.duckdb.wal")
    assert log.stat().st_size > 0
    put(2)
    assert not log.exists()
    assert fetch(home, "from a") == [(2,)]


def test_what_a_killed_publication_left_is_overwritten(home, put):
    for name in ("published.partial", "published.partial.wal"):
        (home.work / name).write_bytes(b"half")
        (home.work / name).chmod(0o444)
    put(1)
    assert fetch(home, "from a") == [(1,)]


def test_views_are_there_as_far_as_their_tables_are(home, put):
    put(1)
    always = {"funnel", "drop_reasons", "cost_by_stage", "cost_by_model", "slowest_calls"}
    assert names(home, "view") == always
    with connect(home.warehouse) as db:
        for name in ("memories", "sample_memories"):
            db.execute(f"create table {name} ({TABLES[name]})")
    put(1)
    assert names(home, "view") == always | {"selection"}
    with connect(home.warehouse) as db:
        for name in ("gold_memories", "made_of"):
            db.execute(f"create table {name} ({TABLES[name]})")
    put(1)
    assert names(home, "view") == always | {"selection", "label_counts"}


def test_a_table_of_an_earlier_version_without_a_column_costs_the_views_that_read_it(full, calls):
    with connect(full.warehouse) as db:
        db.execute("alter table sample_memories drop column drawn_for")
    publish(full, calls())
    assert {"selection", "label_counts"} & names(full, "view") == set()
    assert fetch(full, "from drop_reasons") == VIEWS["drop_reasons"]


@pytest.fixture
def full(home):
    """A warehouse with all that the views read, and a few rows."""
    with connect(home.warehouse) as db:
        for name, columns in TABLES.items():
            db.execute(f"create table {name} ({columns})")
        db.execute("""
            insert into builds values
                ('memories', 2, 'f', ['dialogues'], 'candidates', 5, 3, 2, 1.239, 4, now()),
                ('dialogues', 1, 'f', [], 'conversations', 9, 7, 2, 0.5, 0, now() + interval 1 hour);
            insert into dropped values
                ('memories', 'c1', 'rejected', null), ('memories', 'c2', 'rejected', 'why'),
                ('dialogues', 'd1', 'too_long', '300'), ('memories', 'c3', 'no_evidence', null),
                ('sample_memories', 'm2', 'context_role_play', null),
                ('sample_memories', 'm4', 'label_cap', 'Possessions/Pet'), ('memories', 'm1', 'no_evidence', null);
            insert into memories values
                ('m1', 'd1', 'u1', 'Possessions/Pet', 'direct', 'Has a dog', 'my dog', 0),
                ('m2', 'd1', 'u1', 'Possessions/Pet', 'direct', 'Has a cat', 'cat', 2),
                ('m3', 'd1', 'u1', 'UNMAPPED', 'indirect', 'Says hi', 'hi', 0),
                ('m4', 'd2', 'u2', 'Possessions/Pet', 'direct', 'Has a cow', 'cow', 0);
            insert into sample_memories values ('m1', 'd1', 1, 'floor'), ('m3', 'd1', 1, 'floor');
            insert into gold_memories values ('m1');
            insert into made_of values
                ('sample_memories', 'knob', 'label_cap', '1000'), ('sample_memories', 'knob', 'label_floor', '7'),
                ('sample_memories', 'knob', 'label_caps.Possessions/Pet', '1'),
                ('targets', 'knob', 'label_floors.Possessions/Pet', '3');
            insert into conversations values
                ('d1', 'h1', '0.parquet', 7, '0.parquet:7'), ('d1', 'h1', '1.parquet', 3, '1.parquet:3');
            insert into dialogues values ('d1', '1.parquet:3');
            insert into release_rows values
                ('task3_d9-1', 'task3_d9', 'dev', 'i1', 'm1', 'd1', 'u1'),
                ('task1-1', 'task1', 'dev', 'i2', null, 'd1', 'u1');
        """)
    return home


VIEWS = {
    "funnel": [
        ("dialogues", "conversations", 9, 7, 2, 0.5, 0, False),
        ("memories", "candidates", 5, 3, 2, 1.24, 4, True),  # built before the dialogues that it reads
    ],
    "drop_reasons": [
        ("dialogues", "too_long", 1, "300"),
        ("memories", "no_evidence", 2, None),
        ("memories", "rejected", 2, "why"),
        ("sample_memories", "context_role_play", 1, None),
        ("sample_memories", "label_cap", 1, "Possessions/Pet"),
    ],
    "cost_by_stage": [("a_stage", 2, 1, 0, "", 11, 3, 7, 2, 0.0015, 0.005, 18.0)],
    "cost_by_model": [("fable", 2, 1, 0, "", 11, 3, 7, 2, 0.0015, 0.005, 18.0)],
    "selection": [
        ("m1", "d1", "u1", "Possessions/Pet", "direct", 1, "floor", None, None, True),
        ("m3", "d1", "u1", "UNMAPPED", "indirect", 1, "floor", None, None, True),
        ("m2", "d1", "u1", "Possessions/Pet", "direct", None, None, "context_role_play", None, False),
        ("m4", "d2", "u2", "Possessions/Pet", "direct", None, None, "label_cap", "Possessions/Pet", True),
    ],
    "label_counts": [("Possessions/Pet", 3, 2, 1, 1, 1, 7, 1), ("UNMAPPED", 1, 1, 1, 1, 1000, 0, 0)],
    "trace": [
        ("task1-1", "task1", "dev", "i2", None, None, None, None, "d1", "h1", "u1", "1.parquet", 3),
        ("task3_d9-1", "task3_d9", "dev", "i1", "m1", "Has a dog", "my dog", 0, "d1", "h1", "u1", "1.parquet", 3),
    ],
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_what_a_person_wants_first(full, calls, view):
    publish(full, calls())
    assert names(full, "view") >= VIEWS.keys()
    assert fetch(full, f"from {view}") == VIEWS[view]


@pytest.mark.parametrize("damage", [b"", b"no database at all, " * 1000])
def test_a_damaged_warehouse_is_told_and_the_published_file_stands(home, put, calls, damage):
    put(1)
    with home.warehouse.open("r+b") as file:
        file.truncate(4096 if not damage else 0)
        file.write(damage or b"\xff" * 4096)
    with pytest.raises(DamagedError, match="remove it and its .wal, and build again"):
        publish(home, calls())
    assert fetch(home, "from a") == [(1,)]
