import gzip
import json
import pickle
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.source import Shard, Source, files_of
from warehouse import BadInputError, connect

TIME = "2023-04-09 00:02:53+00"
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])


def shown(source, columns="*"):
    with connect() as db:
        source.show(db)
        rows = db.sql(f"select {columns} from source_rows order by shard, row").to_arrow_table()
    return rows.to_pylist()


def test_a_row_of_json_lines_and_one_of_parquet_look_the_same(source_of, talk):
    source = source_of({"a.jsonl": [talk(language="English")], "b.parquet": [talk(language="English")]})

    first, second = shown(source)

    assert {**first, "shard": "b.parquet", "source_row": "b.parquet:0"} == second
    assert second["conversation"] == talk()["conversation"]
    assert (second["hashed_ip"], second["language"], second["toxic"]) == ("ip1", "English", None)
    assert second["timestamp"].isoformat() == "2023-04-09T00:02:53+00:00"


def test_shards_with_more_and_with_fewer_fields_are_read_together_message_by_message(source_of, talk):
    lean = talk("h1", messages=3)
    rich = talk("h2", messages=2, toxic=True, country="Peru", state="Lima", turn=1)
    for number, message in enumerate(rich["conversation"]):
        message |= {"turn_identifier": number, "header": {"agent": "x"}, "toxic": False}
    swapped = talk("h3", messages=1)
    swapped["conversation"] = [{"content": "said", "extra": [1, 2], "role": "user"}]
    source = source_of({"1.parquet": [lean], "2.parquet": [rich, rich], "3.parquet": [swapped]})

    rows = shown(source, "source_row, toxic, country, conversation")

    plain = [{"role": one["role"], "content": one["content"]} for one in rich["conversation"]]
    assert [tuple(row.values()) for row in rows] == [
        ("1.parquet:0", None, None, lean["conversation"]),
        ("2.parquet:0", True, "Peru", plain),
        ("2.parquet:1", True, "Peru", plain),
        ("3.parquet:0", None, None, [{"role": "user", "content": "said"}]),
    ]


def test_empty_null_and_long_lists_of_messages_stay_with_their_rows(source_of, talk):
    lists = [None, [], [{"role": "user", "content": None}], [None], *[talk(messages=n)["conversation"] for n in (1, 7)]]
    columns = {name: ["x"] * len(lists) for name in ("conversation_hash", "model", "hashed_ip")}
    table = pa.table(
        {
            **columns,
            "timestamp": [TIME] * len(lists),
            "conversation": pa.array(lists, pa.list_(MESSAGE)),
        }
    )

    rows = shown(source_of({"a.parquet": table}), "conversation")

    assert [row["conversation"] for row in rows] == lists


def drawn_message(draw):
    """Draw a message of 4.8M, which may be none, or have nothing in it."""
    if draw.random() < 0.2:
        return None
    return {
        "content": draw.choice([None, "", "hi", "是的。", "half \x00 of it", "😀" * draw.randrange(300)]),
        "created": draw.choice([None, 1700631835]),
        "usage": draw.choice([None, {"total_tokens": None}, {"total_tokens": 7}]),
        "role": draw.choice([None, "user", "assistant"]),
    }


def said(conversation):
    """Give what is read of a conversation."""
    fields = ("role", "content")
    return conversation and [one and {field: one[field] for field in fields} for one in conversation]


@pytest.mark.parametrize("rows_in_group", [1, 7, 100, 5000])
def test_nested_rows_at_random_are_read_value_by_value_however_they_are_grouped(tmp_path, rows_in_group):
    draw = random.Random(rows_in_group)
    lists = [draw.choice([None, [], [drawn_message(draw) for _ in range(draw.randrange(9))]]) for _ in range(3000)]
    columns = {name: ["x"] * len(lists) for name in ("conversation_hash", "model", "timestamp", "hashed_ip")}
    usage = pa.struct([("total_tokens", pa.int64())])
    fields = [("content", pa.string()), ("created", pa.int64()), ("usage", usage), ("role", pa.string())]
    table = pa.table({**columns, "conversation": pa.array(lists, pa.list_(pa.struct(fields)))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=rows_in_group, data_page_size=2000)

    rows = shown(Source((Shard("a.parquet", tmp_path / "a.parquet", 1, "0"),), tmp_path), "row, conversation")

    assert [row["row"] for row in rows] == list(range(3000))
    assert [row["conversation"] for row in rows] == [said(one) for one in lists]


V1: dict[str, Any] = {
    "conversation_id": "h1",
    "model": "gpt-4",
    "timestamp": datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC),
    "conversation": [
        {"content": "hello", "language": "English", "redacted": False, "role": "user", "toxic": False},
        {"content": "hi", "language": "English", "redacted": False, "role": "assistant", "toxic": False},
    ],
    "turn": 1,
    "language": "English",
    "toxic": False,
    "redacted": True,
}
ADDRESSED = {"hashed_ip": "ip1", "country": "Peru", "state": None, "header": {"user-agent": "x"}}
OF_1M: dict[str, Any] = {
    **{key: value for key, value in V1.items() if key != "conversation_id"},
    "conversation_hash": "h1",
    "conversation": [one | {"turn_identifier": 5, "hashed_ip": "ip1"} for one in V1["conversation"]],
    **ADDRESSED,
}
OF_4_8M = {
    **OF_1M,
    "timestamp": datetime(2023, 4, 9, 0, 2, 53),
    "conversation": [{"created": None, "usage": {"total_tokens": 3}, **one} for one in OF_1M["conversation"]],
}


@pytest.fixture
def in_every_form(source_of):
    """Write the same conversation in each published schema, as Parquet and as JSON lines, into one folder."""
    files = {}
    for name, record in {"1": OF_4_8M, "2": V1, "3": OF_1M}.items():
        files[f"{name}.parquet"] = [record]
        line = json.dumps(record, default=lambda time: time.isoformat(" ")).encode() + b"\n"
        files |= {f"{name}.jsonl": line, f"{name}.jsonl.gz": gzip.compress(line)}
    mixed = b"".join(files[f"{name}.jsonl"] for name in "321")
    return source_of({**files, "4.jsonl": mixed})


def test_the_published_schemas_are_read_together_whatever_holds_them(in_every_form):
    rows = shown(in_every_form)

    schemas = [("1", "wildchat_4.8m"), ("2", "wildchat_v1"), ("3", "wildchat_1m")]
    places = [(f"{name}{end}", 0, schema) for name, schema in schemas for end in (".jsonl", ".jsonl.gz", ".parquet")]
    places += [("4.jsonl", row, schema) for row, (_, schema) in enumerate(reversed(schemas))]
    assert [(row["shard"], row["row"], row["source_schema"]) for row in rows] == places
    for row in rows:
        has_user = row["source_schema"] != "wildchat_v1"
        assert row == {
            **{"shard": row["shard"], "row": row["row"], "source_row": f"{row['shard']}:{row['row']}"},
            **{"source_schema": row["source_schema"], "problem": None, "conversation_hash": "h1", "model": "gpt-4"},
            **{"hashed_ip": "ip1" if has_user else None, "country": "Peru" if has_user else None},
            **{"timestamp": V1["timestamp"], "language": "English", "toxic": False, "redacted": True},
            "conversation": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
        }


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_a_time_without_a_zone_is_in_utc_wherever_it_is_read(in_every_form, zone):
    with connect() as db:
        in_every_form.show(db)
        db.execute(f"set TimeZone = '{zone}'")
        times = db.execute("select distinct epoch(timestamp) from source_rows where shard like '%.parquet'").fetchall()

    assert times == [(V1["timestamp"].timestamp(),)]


def test_rows_come_in_the_order_of_shards_and_rows_unasked(source_of, talk):
    many = [talk(str(number)) for number in range(5000)]
    source = source_of(
        {"1.parquet": many, "2.jsonl": many, "3.parquet": [V1] * 3000, "4.parquet": many, "5.jsonl": b""}
    )

    with connect() as db:
        source.show(db)
        db.execute("create table kept as select shard, row from source_rows where len(conversation) > 0")
        places = db.execute("select shard, row from kept order by rowid").fetchall()

    sizes = {"1.parquet": 5000, "2.jsonl": 5000, "3.parquet": 3000, "4.parquet": 5000}
    assert places == [(name, row) for name, size in sizes.items() for row in range(size)]


def test_a_source_can_be_sent_elsewhere_and_cut_to_one_shard(in_every_form):
    whole = shown(in_every_form)

    sent = pickle.loads(pickle.dumps(in_every_form))
    cut = [row for shard in sent.shards for row in shown(replace(sent, shards=(shard,)))]

    assert sent == in_every_form
    assert cut == whole


def test_names_with_signs_that_mean_something_elsewhere_are_names(source_of, talk):
    names = ["a[1]/b*.parquet", "a[1]/bb.parquet", "a[1]/it's.parquet", "a[1]/{x}?.jsonl"]

    rows = shown(source_of({name: [talk(name)] for name in names}))

    assert [(row["shard"], row["conversation_hash"]) for row in rows] == [(name, name) for name in names]


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
def test_a_message_of_20_mb_stands_between_its_neighbours(source_of, talk, end):
    texts = ["before", "long " * 4_000_000, "after"]
    records = [talk(conversation=[{"role": "user", "content": text}]) for text in texts]

    rows = shown(source_of({f"a.{end}": records}), "conversation[1].content as content")

    assert [row["content"] for row in rows] == texts


def test_lines_whose_fields_come_and_go_are_read_by_the_schema_and_not_by_what_they_hold(source_of):
    user = {"role": "user", "content": "hi"}
    sparse = [{"conversation_hash": "h", "header": {f"key {number}": number}} for number in range(300)]
    sparse += [{"conversation": [user | {f"key {number}": [number]}]} for number in range(300)]
    sparse += [{"hashed_ip": "late", "conversation": [user, {}]}]

    rows = shown(source_of({"a.jsonl": sparse}), "conversation_hash, hashed_ip, conversation")

    none = {"conversation_hash": None, "hashed_ip": None, "conversation": None}
    assert rows[:300] == [none | {"conversation_hash": "h"}] * 300
    assert rows[300:600] == [none | {"conversation": [user]}] * 300
    assert rows[600:] == [none | {"hashed_ip": "late", "conversation": [user, {"role": None, "content": None}]}]


def test_a_column_of_a_name_that_is_ours_is_no_word_of_ours(source_of, talk):
    rows = shown(source_of({"a.parquet": [talk(problem="none", source_schema="mine")]}), "source_schema, problem")

    assert rows == [{"source_schema": "wildchat_1m", "problem": None}]


def test_bad_lines_cost_a_row_each_and_keep_their_places(source_of):
    def line(text):
        return b'{"conversation": [{"role": "user", "content": "%s"}]}\n' % text

    content = [
        *(b"\xef\xbb\xbf" + line(b"first"), line(rb"half \ud83d"), line(rb"zero \u0000"), line(b"raw \xff")),
        *(line(b"raw \x00"), b"\r\n", line("是".encode()), b'{"conversation": [{"role": "us'),
    ]

    rows = shown(source_of({"a.jsonl": b"".join(content)}), "row, problem, conversation[1].content as content")

    assert [tuple(row.values()) for row in rows] == [
        *((0, None, "first"), (1, None, "half ?"), (2, None, "zero \x00"), (3, "not_utf8", None)),
        *((4, "not_json", None), (5, "blank_line", None), (6, None, "是"), (7, "not_json", None)),
    ]


def test_a_time_that_is_none_costs_the_time_and_not_the_source(source_of, talk):
    source = source_of({"a.parquet": [talk(timestamp="soon"), talk(timestamp=TIME)]})

    assert [row["timestamp"] is None for row in shown(source)] == [True, False]


def test_a_written_time_is_the_same_in_json_lines_and_in_parquet(source_of, talk):
    moment = datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)
    times = {
        **dict.fromkeys(["2023-04-09 00:02:53", " 2023-04-09T00:02:53Z\n", "2023-04-09 00:02:53 UTC"], moment),
        **dict.fromkeys(["2023-04-09 05:32:53+05:30", "2023-04-08T19:02:53-0500", "2023-04-09 02:02:53+02"], moment),
        "2023-04-09": datetime(2023, 4, 9, tzinfo=UTC),
        "2023-04-09 00:02": datetime(2023, 4, 9, 0, 2, tzinfo=UTC),
        "2023-04-09 00:02:53.1234569": moment.replace(microsecond=123456),
        "0001-01-01T00:00:00Z": datetime(1, 1, 1, tzinfo=UTC),
        "9999-12-31T23:59:59.999999Z": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        **dict.fromkeys(["", " ", "soon", "1681000000", "2023-04-09T24:00:00Z", "2023-02-30", "20230409"]),
        **dict.fromkeys(["infinity", "-infinity", "epoch", "now", "294247-01-01", "0044-03-15 (BC)", "0000-01-01"]),
        **dict.fromkeys(["0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00", "2023-04-09 00:02:60"]),
    }
    records = [talk(timestamp=time) for time in times]

    rows = shown(source_of({"a.jsonl": records, "b.parquet": records}), "timestamp, problem")

    assert [row["timestamp"] for row in rows] == [*times.values()] * 2
    assert {row["problem"] for row in rows} == {None}


@pytest.mark.parametrize(
    "type",
    [pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(22, 3)],
    ids=str,
)
def test_a_time_in_numbers_counts_seconds_in_parquet_too(source_of, talk, type):
    table = pa.Table.from_pylist([talk(), talk()]).drop("timestamp")
    table = table.append_column("timestamp", pa.array([1_024_000_000, None], pa.int64()).cast(type, safe=False))

    times = [row["timestamp"] for row in shown(source_of({"a.parquet": table}))]

    assert times == [datetime(2002, 6, 13, 20, 26, 40, tzinfo=UTC), None]


def test_a_time_in_numbers_is_the_same_in_json_lines_and_in_parquet(source_of, talk):
    moment = datetime(2023, 4, 9, 0, 26, 40, 500000, UTC)
    times = {
        **dict.fromkeys([1681000000.5, 1681000000500.0], moment),
        **{0.0: datetime(1970, 1, 1, tzinfo=UTC), -0.5: datetime(1969, 12, 31, 23, 59, 59, 500000, UTC)},
        1e11: datetime(5138, 11, 16, 9, 46, 40, tzinfo=UTC),
        1e11 + 1000: datetime(1973, 3, 3, 9, 46, 41, tzinfo=UTC),
        **{
            -62135596800.0: datetime(1, 1, 1, tzinfo=UTC),
            253402300799000.0: datetime(9999, 12, 31, 23, 59, 59, 0, UTC),
        },
        **dict.fromkeys([-62135596801.0, 253402300800000.0, 9.2e15, 1e300, -1e300, float("inf"), float("nan")]),
    }
    records = [talk(timestamp=time) for time in times]

    rows = shown(source_of({"a.jsonl": records, "b.parquet": records}), "timestamp, problem")

    assert [row["timestamp"] for row in rows] == [*times.values()] * 2
    assert {row["problem"] for row in rows} == {None}


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_time_of_a_column_of_times_is_read_in_the_years_1_to_9999(source_of, talk, unit, zone):
    in_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    outside = [] if unit == "ns" else [-62135596801 * in_second, 253402300800 * in_second]
    outside += [2**63 - 1] if unit == "us" else []
    times = pa.array([1681000000 * in_second, *outside], pa.int64()).cast(pa.timestamp(unit, zone))
    table = pa.Table.from_pylist([talk()] * len(times)).drop("timestamp").append_column("timestamp", times)

    read = [row["timestamp"] for row in shown(source_of({"a.parquet": table}))]

    assert read == [datetime(2023, 4, 9, 0, 26, 40, tzinfo=UTC), *[None] * len(outside)]


@pytest.mark.parametrize(
    "times", [[True], [[1]], [["2023-04-09"]], [[datetime(2023, 4, 9)]], [{"seconds": 1}]], ids=str
)
def test_a_column_that_holds_no_times_costs_the_times(source_of, talk, times):
    table = pa.Table.from_pylist([talk()]).drop("timestamp").append_column("timestamp", pa.array(times))

    assert [row["timestamp"] for row in shown(source_of({"a.parquet": table}))] == [None]


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
@pytest.mark.parametrize("value", [1, 0.0, "yes", "true"])
def test_a_flag_that_is_no_boolean_is_unknown_whatever_holds_it(source_of, talk, end, value):
    rows = shown(source_of({f"a.{end}": [talk(toxic=value, redacted=True)]}), "toxic, redacted, problem")

    assert rows == [{"toxic": None, "redacted": True, "problem": None}]


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
def test_in_a_file_with_both_keys_each_row_is_read_by_its_own(source_of, talk, end):
    keys = [("h1", None), (None, "h2"), (" ", "h3"), ("h4", "other"), (None, None)]
    records = [talk(hash, conversation_id=id) for hash, id in keys]

    rows = shown(source_of({f"a.{end}": records}), "conversation_hash as key, source_schema as schema")

    assert [(row["key"], row["schema"]) for row in rows] == [
        *(("h1", "wildchat_1m"), ("h2", "wildchat_v1"), ("h3", "wildchat_v1"), ("h4", "wildchat_1m")),
        (None, "wildchat_1m"),
    ]


@pytest.mark.parametrize("column", ["conversation_hash", "model", "timestamp", "conversation", "hashed_ip"])
def test_a_missing_column_is_named(source_of, talk, column):
    record = talk()
    del record[column]

    with pytest.raises(BadInputError, match=rf"b/2\.parquet lacks the columns {column};"):
        shown(source_of({"b/1.parquet": [talk()], "b/2.parquet": [record]}))


@pytest.mark.parametrize("column", ["model", "timestamp", "conversation"])
def test_a_missing_column_of_the_first_schema_is_named(source_of, column):
    record = {name: value for name, value in V1.items() if name != column}

    with pytest.raises(BadInputError, match=rf"a\.parquet lacks the columns {column};"):
        source_of({"a.parquet": [record]}).check()


@pytest.mark.parametrize(
    "conversation", ["hi", ["hi"], [{"role": "user", "text": "hi"}], [{"role": 1, "content": "hi"}]]
)
def test_a_column_that_holds_no_messages_is_told(source_of, talk, conversation):
    with pytest.raises(BadInputError, match=r"a\.parquet: the column conversation is not a list of messages"):
        shown(source_of({"a.parquet": [talk(conversation=conversation)]}))


def test_a_file_that_is_no_parquet_is_told_by_its_name(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and then nothing")

    with pytest.raises(BadInputError, match=r"a\.parquet is no Parquet file, or it is damaged"):
        shown(Source((Shard("a.parquet", path, 21, "0"),), tmp_path))


def test_a_source_is_the_same_wherever_it_lies(tmp_path):
    here, there = (
        Source((Shard("a.parquet", tmp_path / where / "a.parquet", 5, "ff"),), tmp_path / where)
        for where in ("here", "there")
    )

    assert here.identity == there.identity == [("a.parquet", 5, "ff")]


def test_shards_are_named_by_their_path_below_the_folder_in_the_order_of_names(tmp_path):
    names = ["b/2.jsonl", "b/1.parquet", "a.parquet", "b/c.parquet/inner.jsonl", "b/2.jsonl.gz", "b-/1.jsonl"]
    for name in (*names, "notes.txt", "notes.gz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert [name for name, _ in files_of(tmp_path)] == [
        *("a.parquet", "b-/1.jsonl", "b/1.parquet", "b/2.jsonl", "b/2.jsonl.gz", "b/c.parquet/inner.jsonl")
    ]
    assert files_of(tmp_path / "b/2.jsonl") == [("2.jsonl", tmp_path / "b/2.jsonl")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes.txt", "neither Parquet"),
        ("no_such", "no such file or folder"),
        ("empty", r"holds no \.parquet, \.jsonl or \.jsonl\.gz file"),
    ],
)
def test_a_path_with_nothing_to_read_is_told(tmp_path, name, message):
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadInputError, match=message):
        files_of(tmp_path / name)


def test_a_blank_is_no_value(source_of, talk):
    blank = talk(conversation_hash=" ", language="")
    blank |= {"model": "\t ", "hashed_ip": ""}

    [row] = shown(source_of({"a.parquet": [blank]}))

    assert [row[name] for name in ("conversation_hash", "model", "hashed_ip", "language")] == [None] * 4
