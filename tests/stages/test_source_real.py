"""Reads all the real files at once, and compares them with what another reader finds in each."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stages import conversations
from stages.secret import Secret
from stages.source import Shard, Source, files_of
from warehouse import connect

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "wildchat"
SCHEMAS = {
    "alps_1m": "wildchat_1m",
    "topo_1m": "wildchat_1m",
    "topo_v1_650k": "wildchat_v1",
    "topo_4_8m": "wildchat_4.8m",
}
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the real files are not here")


@pytest.fixture
def source(tmp_path):
    files = [(name, path) for name, path in files_of(FOLDER) if path.suffix == ".parquet"]
    return Source(tuple(Shard(name, path, 1, name.replace("/", "-")) for name, path in files), tmp_path)


def test_every_row_of_the_real_files_is_read_under_its_schema_in_its_place(source):
    rows = {shard.name: pq.read_metadata(shard.path).num_rows for shard in source.shards}

    with connect() as db:
        source.show(db)
        places = db.execute("select shard, row from source_rows").fetchall()
        schemas = db.execute("select split_part(shard, '/', 1), source_schema, count(*) from source_rows group by all")
        counts = {folder: (schema, count) for folder, schema, count in schemas.fetchall()}
        problems = db.execute("select count(problem) from source_rows").fetchall()

    assert places == [(name, row) for name, count in rows.items() for row in range(count)]
    assert counts == {folder: (SCHEMAS[folder], 1535 if folder == "alps_1m" else 187) for folder in SCHEMAS}
    assert problems == [(0,)]


def test_no_value_of_the_real_files_differs_from_what_another_reader_finds(source):
    with connect() as db:
        source.show(db)
        read = db.sql("from source_rows").to_arrow_table().to_pylist()

    found = [row for shard in source.shards for row in pq.read_table(shard.path).to_pylist()]
    assert len(read) == len(found) == 1535 + 3 * 187
    for mine, row in zip(read, found, strict=True):
        said = [{"role": one["role"], "content": one["content"]} for one in row["conversation"]]
        assert mine["conversation"] == said
        assert mine["conversation_hash"] == row.get("conversation_hash", row.get("conversation_id"))
        assert mine["timestamp"].replace(tzinfo=None) == row["timestamp"].replace(tzinfo=None)
        for name in ("hashed_ip", "model", "language", "country", "toxic", "redacted"):
            assert mine[name] == row.get(name)


def test_the_real_lines_are_the_rows_that_they_were_made_of(source, tmp_path):
    [(name, lines)] = [(name, path) for name, path in files_of(FOLDER) if path.suffix == ".jsonl"]
    columns = "row, conversation_hash, hashed_ip, model, timestamp, source_schema, conversation"

    with connect() as db:
        Source((Shard(name, lines, 1, "lines"),), tmp_path).show(db)
        read = db.sql(f"select {columns} from source_rows").to_arrow_table().to_pylist()
        source.show(db)
        rows = db.sql(f"select {columns} from source_rows where shard like 'topo_1m/%' limit 60").to_arrow_table()

    assert read == rows.to_pylist()


def test_the_real_conversations_add_up_by_schema(source, settle):
    with connect() as db:
        settled = settle(db, conversations, source=source, secret=Secret("a home's own"))

    kept = Counter(row["source_schema"] for row in settled.rows)
    lost = Counter(SCHEMAS[drop["source_row"].split("/")[0]] for drop in settled.drops)
    assert kept + lost == {"wildchat_1m": 1535 + 187, "wildchat_v1": 187, "wildchat_4.8m": 187}
    assert {row["user_known"] for row in settled.rows if row["source_schema"] == "wildchat_v1"} == {False}
    users = {row["user_id"] for row in settled.rows if row["shard"].startswith("topo_1m")}
    assert users == {row["user_id"] for row in settled.rows if row["shard"].startswith("topo_4_8m")}
    assert users.isdisjoint(row["user_id"] for row in settled.rows if not row["user_known"])
