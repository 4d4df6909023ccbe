import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.json_lines import parquet_of


def converted(tmp_path, content):
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(content)
    return pq.read_table(parquet_of(lines, tmp_path / "scratch" / "lines.parquet")).to_pylist()


def test_a_cut_last_line_costs_one_row_and_no_other(tmp_path):
    whole = b'{"model": "a"}\n{"model": "b"}\n'

    rows = converted(tmp_path, whole + b'{"model": "c')

    assert [(row["model"], row["problem"]) for row in rows] == [("a", None), ("b", None), (None, "not_json")]


def test_each_line_is_one_row_in_its_place_whatever_it_holds(tmp_path):
    lines = [b'{"model": "a"}', b"", b"\xff", b"[]", b'{"model": "b"}', b"{", b'{"model": 1}', b'{"model": "c"}']

    rows = converted(tmp_path, b"\n".join(lines) + b"\n")

    assert [row["model"] or row["problem"] for row in rows] == [
        *("a", "blank_line", "not_utf8", "not_an_object", "b", "not_json", "wrong_types", "c")
    ]


def test_a_file_of_no_line_is_a_table_of_no_row(tmp_path):
    assert converted(tmp_path, b"") == []


def test_a_message_of_20_mb_does_not_cost_its_neighbours(tmp_path):
    long = "x" * 20_000_000
    said = [[{"role": "user", "content": text}] for text in ("before", long, "after")]

    rows = converted(tmp_path, b"\n".join(json.dumps({"conversation": one}).encode() for one in said))

    assert [row["conversation"] for row in rows] == said


def test_a_key_that_first_appears_in_line_25_001_is_there(tmp_path):
    rows = converted(tmp_path, b'{"model": "a"}\n' * 25_000 + b'{"hashed_ip": "late"}\n')

    assert (len(rows), rows[-1]["hashed_ip"]) == (25_001, "late")


def test_what_was_converted_before_is_not_converted_again(tmp_path):
    parquet = tmp_path / "lines.parquet"
    pq.write_table(pa.table({"as": ["it was"]}), parquet)

    assert pq.read_table(parquet_of(tmp_path / "no such file", parquet)).to_pylist() == [{"as": "it was"}]


def test_a_conversion_that_is_damaged_is_made_again(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "lines.parquet").write_bytes(b"PAR1 and then nothing")

    assert [row["model"] for row in converted(tmp_path, b'{"model": "a"}\n')] == ["a"]


def test_a_conversion_that_was_broken_off_leaves_nothing_that_counts(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "lines.parquet.0.partial").write_bytes(b"half of it")

    assert [row["model"] for row in converted(tmp_path, b'{"model": "a"}\n')] == ["a"]


def test_a_conversion_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        parquet_of(tmp_path / "no such file", tmp_path / "scratch" / "lines.parquet")

    assert list((tmp_path / "scratch").iterdir()) == []


def test_two_may_convert_the_same_lines_at_once(tmp_path):
    lines, parquet = tmp_path / "lines.jsonl", tmp_path / "scratch" / "lines.parquet"
    lines.write_bytes(b"".join(b'{"model": "%d"}\n' % number for number in range(30_000)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: parquet_of(lines, parquet), range(4)))

    assert pq.read_table(parquet)["model"].to_pylist() == [str(number) for number in range(30_000)]
    assert list(parquet.parent.iterdir()) == [parquet]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_last_line_is_a_row_however_it_ends_and_none_follows(tmp_path, end):
    rows = converted(tmp_path, b'{"model": "a"}\r\n\r\n{"model": "b"}' + end)

    assert [(row["model"], row["problem"]) for row in rows] == [("a", None), (None, "blank_line"), ("b", None)]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(("more", "problem"), [(0, None), (1, "too_long"), (3_000_000, "too_long")])
def test_a_line_longer_than_the_limit_costs_one_row(tmp_path, more, problem, end):
    lines = tmp_path / "lines.jsonl"
    long = b'{"model": "%s"}' % (b"x" * (87 + more))
    lines.write_bytes(b'{"model": "a"}\n' + long + b'\n{"model": "b"}\n' + long + end)

    rows = pq.read_table(parquet_of(lines, tmp_path / "lines.parquet", longest_line_bytes=100)).to_pylist()

    assert [row["problem"] for row in rows] == [None, problem, None, problem]
    assert [row["model"] for row in rows][::2] == ["a", "b"]


def packed(count):
    """Give lines that hardly shrink, and the same packed."""
    draw = random.Random(4).randbytes
    lines = [b'{"model": "%s"}\n' % draw(200).hex().encode() for _ in range(count)]
    return lines, gzip.compress(b"".join(lines))


def unpacked(tmp_path, content):
    lines = tmp_path / "lines.jsonl.gz"
    lines.write_bytes(content)
    return pq.read_table(parquet_of(lines, tmp_path / "scratch" / "lines.parquet")).to_pylist()


def test_packed_lines_are_the_lines(tmp_path):
    lines, content = packed(1000)

    assert [row["model"] for row in unpacked(tmp_path, content)] == [json.loads(line)["model"] for line in lines]


def test_packed_in_two_parts_is_packed(tmp_path):
    rows = unpacked(tmp_path, gzip.compress(b'{"model": "a"}\n') + gzip.compress(b'{"model": "b"}'))

    assert [(row["model"], row["problem"]) for row in rows] == [("a", None), ("b", None)]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_packed_lines_that_are_cut_are_there_up_to_the_cut_which_is_one_row(tmp_path, share):
    lines, content = packed(5000)

    *rows, last = unpacked(tmp_path, content[: int(len(content) * share)])

    assert [row["model"] for row in rows] == [json.loads(line)["model"] for line in lines[: len(rows)]]
    assert {row["problem"] for row in rows} == {None}
    assert (last["problem"], last["model"]) == ("cut_gzip", None)
    assert share - 0.05 < len(rows) / 5000 < share + 0.05


def test_packed_lines_with_a_wrong_byte_are_there_up_to_it(tmp_path):
    lines, content = packed(5000)
    middle = len(content) // 2
    broken = content[:middle] + bytes(200) + content[middle + 200 :]

    rows = unpacked(tmp_path, broken)

    good = [row["model"] for row in rows[:2000]]
    assert good == [json.loads(line)["model"] for line in lines[:2000]]
    assert [row["problem"] for row in rows].count("cut_gzip") == 1
    assert rows[-1]["problem"] == "cut_gzip"
    assert len(rows) < 5000


def test_what_is_only_said_to_be_packed_is_one_row(tmp_path):
    assert [row["problem"] for row in unpacked(tmp_path, b'{"model": "a"}\n')] == ["cut_gzip"]
