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

    lists[3] = [{"role": None, "content": None}]
    assert [row["conversation"] for row in rows] == lists


def test_a_time_that_is_none_costs_the_time_and_not_the_source(source_of, talk):
    source = source_of({"a.parquet": [talk(timestamp="soon"), talk(timestamp=TIME)]})

    assert [row["timestamp"] is None for row in shown(source)] == [True, False]


@pytest.mark.parametrize("column", ["conversation_hash", "model", "timestamp", "conversation", "hashed_ip"])
def test_a_missing_column_is_named(source_of, talk, column):
    record = talk()
    del record[column]

    with pytest.raises(BadInputError, match=rf"b/2\.parquet lacks the columns {column};"):
        shown(source_of({"b/1.parquet": [talk()], "b/2.parquet": [record]}))


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
    for name in ("b/2.jsonl", "b/1.parquet", "a.parquet", "notes.txt", "b/c.parquet/inner.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert [name for name, _ in files_of(tmp_path)] == [
        *("a.parquet", "b/1.parquet", "b/2.jsonl", "b/c.parquet/inner.jsonl")
    ]
    assert files_of(tmp_path / "b/2.jsonl") == [("2.jsonl", tmp_path / "b/2.jsonl")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes.txt", "neither Parquet"),
        ("no_such", "no such file or folder"),
        ("empty", r"holds no \.parquet or \.jsonl file"),
    ],
)
def test_a_path_with_nothing_to_read_is_told(tmp_path, name, message):
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadInputError, match=message):
        files_of(tmp_path / name)


@pytest.fixture
def broken_text(tmp_path):
    """Write a Parquet shard in which one message is no UTF-8; any reader of its footer takes it for good."""
    text = pa.array([b"fine", b"\xff\xfe broken"]).view(pa.string())
    roles = pa.array(["user", "assistant"])
    messages = pa.StructArray.from_arrays([roles, text], names=["role", "content"])
    columns = {name: ["x"] for name in ("conversation_hash", "model", "timestamp", "hashed_ip")}
    table = pa.table({**columns, "conversation": pa.ListArray.from_arrays([0, 2], messages)})
    pq.write_table(table, tmp_path / "broken.parquet")
    return tmp_path / "broken.parquet"


def test_a_shard_that_is_damaged_inside_is_found_by_its_name(source_of, talk, broken_text):
    good = source_of({"a.parquet": [talk()], "b.jsonl": [talk()]})
    bad = Shard("broken.parquet", broken_text, 1, "0" * 64)
    mixed = Source((*good.shards, bad), good.scratch)

    mixed.check()

    assert good.damaged() is None
    assert mixed.damaged() == "broken.parquet"


def test_a_blank_is_no_value(source_of, talk):
    blank = talk(conversation_hash=" ", language="")
    blank |= {"model": "\t ", "hashed_ip": ""}

    [row] = shown(source_of({"a.parquet": [blank]}))

    assert [row[name] for name in ("conversation_hash", "model", "hashed_ip", "language")] == [None] * 4
