from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.source import Shard, Source
from warehouse import BadInputError, connect, sha256_of

FIELDS = ["role", "content", "created"]
TEXTS = ["conversation_hash", "hashed_ip", "model", "language", "country"]


def columns_of(count):
    """Give the columns of so many conversations of two messages each, as bytes."""
    numbered = {name: [f"{name} {row}".encode() for row in range(count)] for name in TEXTS}
    said = [f"message {row}".encode() for row in range(2 * count)]
    return {**numbered, "role": [b"user", b"assistant"] * count, "content": said}


def written(path, columns, **options):
    """Write a shard; texts of any bytes pass for text, as they do in files of careless writers."""
    texts = {name: pa.array(column, pa.binary()).view(pa.string()) for name, column in columns.items()}
    count = len(columns["model"])
    created = pa.array(range(2 * count), pa.int64())
    messages = pa.StructArray.from_arrays([texts.pop("role"), texts.pop("content"), created], names=FIELDS)
    conversation = pa.ListArray.from_arrays(range(0, 2 * count + 1, 2), messages)
    times = pa.array([datetime(2024, 1, 2, 3, 4)] * count, pa.timestamp("ns"))
    table = pa.table({**texts, "timestamp": times, "toxic": [True] * count, "conversation": conversation})
    pq.write_table(table, path, **options)
    return Shard(path.name, path, path.stat().st_size, sha256_of(path))


def shown(source):
    with connect() as db:
        source.show(db)
        return db.sql("from source_rows").to_arrow_table().to_pylist()


def is_lost(row, problem):
    known = {"shard", "row", "source_row", "source_schema", "problem"}
    return row["problem"] == problem and all(value is None for name, value in row.items() if name not in known)


@pytest.fixture
def good_rows(tmp_path):
    """Give the rows of a shard of so many conversations in which nothing is wrong."""

    def make(count):
        path = tmp_path / "good" / "a.parquet"
        path.parent.mkdir()
        return shown(Source((written(path, columns_of(count)),), tmp_path / "good"))

    return make


@pytest.mark.parametrize("column", [*TEXTS, "role", "content"])
@pytest.mark.parametrize("bad", [b"\xff", b"cut \xe6\x98", b"half \xed\xa0\xbd"])
def test_a_row_with_text_that_is_no_utf_8_costs_that_row(tmp_path, good_rows, column, bad):
    columns = columns_of(2500)
    columns[column][1700] = bad
    lost = 850 if column in ("role", "content") else 1700
    source = Source((written(tmp_path / "a.parquet", columns, row_group_size=2100),), tmp_path / "scratch")

    assert source.repair() == ["a.parquet"]

    rows = shown(source)
    assert is_lost(rows[lost], "not_utf8")
    assert rows[:lost] + rows[lost + 1 :] == [row for row in good_rows(2500) if row["row"] != lost]
    assert {row["source_schema"] for row in rows} == {"wildchat_4.8m"}
    assert rows[0]["timestamp"].isoformat() == "2024-01-02T03:04:00+00:00"


def broken(path, *path_in_schema, group):
    """Overwrite the pages of one column in one row group."""
    metadata = pq.read_metadata(path).row_group(group)
    chunks = [metadata.column(place) for place in range(metadata.num_columns)]
    [chunk] = [one for one in chunks if one.path_in_schema == ".".join(path_in_schema)]
    with path.open("r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(b"\xff" * chunk.total_compressed_size)


def test_a_row_group_that_cannot_be_read_costs_its_rows(tmp_path, good_rows):
    path = tmp_path / "a.parquet"
    written(path, columns_of(900), row_group_size=300)
    broken(path, "conversation", "list", "element", "content", group=1)
    source = Source((Shard("a.parquet", path, 1, "0"),), tmp_path / "scratch")

    assert source.repair() == ["a.parquet"]

    rows, good = shown(source), good_rows(900)
    assert rows[:300] + rows[600:] == good[:300] + good[600:]
    assert [row["row"] for row in rows[300:600] if is_lost(row, "damaged")] == list(range(300, 600))


def test_what_can_be_read_of_a_row_group_before_its_damage_stays(tmp_path, good_rows):
    path = tmp_path / "a.parquet"
    written(path, columns_of(5000), data_page_size=1000, write_batch_size=100, use_dictionary=False)
    metadata = pq.read_metadata(path).row_group(0).column(0)
    with path.open("r+b") as file:
        file.seek(metadata.data_page_offset + metadata.total_compressed_size // 2)
        file.write(b"\xff" * (metadata.total_compressed_size // 4))
    source = Source((Shard("a.parquet", path, 1, "0"),), tmp_path / "scratch")

    source.repair()

    rows, good = shown(source), good_rows(5000)
    kept = [row for row in rows if row["problem"] is None]
    assert 1000 <= len(kept) <= 2500
    assert kept == good[: len(kept)]
    assert all(is_lost(row, "damaged") for row in rows[len(kept) :])
    assert len(rows) == 5000


def test_damage_in_what_nobody_reads_costs_no_row(tmp_path, good_rows):
    path = tmp_path / "a.parquet"
    written(path, columns_of(900), row_group_size=300)
    broken(path, "conversation", "list", "element", "created", group=1)
    source = Source((Shard("a.parquet", path, 1, "0"),), tmp_path / "scratch")

    source.repair()

    assert shown(source) == good_rows(900)


def test_a_source_in_which_nothing_is_damaged_is_left_as_it_is(tmp_path):
    source = Source((written(tmp_path / "a.parquet", columns_of(5)),), tmp_path / "scratch")

    assert source.repair() == []
    assert not (tmp_path / "scratch").exists()


def test_of_several_shards_the_damaged_alone_are_rewritten(tmp_path):
    bad = columns_of(5) | {"model": [b"a", b"\xff", b"b", b"c", b"d"]}
    shards = [
        written(tmp_path / f"{name}.parquet", columns) for name, columns in {"1": columns_of(4), "2": bad}.items()
    ]
    lines = tmp_path / "3.jsonl"
    lines.write_bytes(b'{"model": "\xff"}\n')
    source = Source((*shards, Shard("3.jsonl", lines, 1, "3")), tmp_path / "scratch")

    assert source.repair() == ["2.parquet"]
    assert source.repair() == []
    assert [row["problem"] for row in shown(source)] == [*[None] * 5, "not_utf8", *[None] * 3, "not_utf8"]


def test_damage_to_what_was_rewritten_is_told_with_the_way_out(tmp_path):
    shard = written(tmp_path / "a.parquet", columns_of(3) | {"model": [b"a", b"\xff", b"b"]})
    source = Source((shard,), tmp_path / "scratch")
    source.repair()
    [rewritten] = (tmp_path / "scratch").iterdir()
    broken(rewritten, "model", group=0)

    with pytest.raises(BadInputError, match=r"what a\.parquet was converted into is damaged: remove .+\.parquet"):
        source.repair()


def test_a_shard_without_a_footer_is_refused_by_its_name(tmp_path):
    shard = written(tmp_path / "a.parquet", columns_of(900))
    with shard.path.open("r+b") as file:
        file.truncate(shard.size // 2)
    source = Source((shard,), tmp_path / "scratch")

    with pytest.raises(BadInputError, match=r"a\.parquet is no Parquet file, or it is damaged"):
        source.repair()
