import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from stages.json_lines import parquet_of, row_of

EMPTY = {
    "conversation_hash": None,
    "hashed_ip": None,
    "model": None,
    "language": None,
    "country": None,
    "toxic": None,
    "redacted": None,
    "timestamp": None,
    "conversation": None,
}


def converted(tmp_path, content):
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(content)
    return pq.read_table(parquet_of(lines, tmp_path / "scratch" / "lines.parquet")).to_pylist()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"\n", "blank_line"),
        (b" \t\r\n", "blank_line"),
        (b"\xef\xbb\xbf\n", "blank_line"),
        (b"hello\n", "not_json"),
        (b'{"conversation": [{"role": "us', "not_json"),
        (b'{"model": "a\x00b"}', "not_json"),
        (b"\x00\x00\x00\x00\n", "not_json"),
        (b'{"turn": ' + b"1" * 5000 + b"}", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"model": "\xff"}', "not_utf8"),
        ('{"model": "gpt"}'.encode("utf-16"), "not_utf8"),
        (b'["conversation"]', "not_an_object"),
        (b"null", "not_an_object"),
        (b"12", "not_an_object"),
        (b'{"model": 4}', "wrong_types"),
        (b'{"hashed_ip": ["a"]}', "wrong_types"),
        (b'{"timestamp": "yesterday"}', "wrong_types"),
        (b'{"timestamp": true}', "wrong_types"),
        (b'{"timestamp": 1e300}', "wrong_types"),
        (b'{"timestamp": "0001-01-01T00:00:00+05:00"}', "wrong_types"),
        (b'{"conversation": "hi"}', "wrong_types"),
        (b'{"conversation": ""}', "wrong_types"),
        (b'{"conversation": {}}', "wrong_types"),
        (b'{"conversation": 0}', "wrong_types"),
        (b'{"conversation": ["hi"]}', "wrong_types"),
        (b'{"conversation": [null]}', "wrong_types"),
        (b'{"conversation": [{"role": "user", "content": {"text": "hi"}}]}', "wrong_types"),
    ],
)
def test_a_line_that_is_no_conversation_gives_a_row_with_its_problem_alone(line, problem):
    assert row_of(line) == {"problem": problem}


def test_a_byte_order_mark_costs_nothing():
    assert row_of(b'\xef\xbb\xbf{"model": "gpt-4"}\r\n') == {**EMPTY, "model": "gpt-4"}


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (r"half \ud83d", "half ?"),
        (r"half \ude00 too", "half ? too"),
        (r"whole \ud83d\ude00", "whole 😀"),
        (r"zero \u0000 byte", "zero \x00 byte"),
        ("是的。", "是的。"),
    ],
)
def test_what_no_utf_8_can_hold_becomes_a_question_mark_and_the_row_stays(content, kept):
    row = row_of(b'{"conversation": [{"role": "user", "content": "%s"}]}' % content.encode())

    assert row == {**EMPTY, "conversation": [{"role": "user", "content": kept}]}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2023-04-09T00:02:53Z", datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)),
        ("2023-04-09 02:02:53+02:00", datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)),
        ("2023-04-09 00:02:53", datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)),
    ],
)
def test_times_are_utc_where_they_name_no_zone(text, time):
    assert row_of(json.dumps({"timestamp": text}).encode()) == {**EMPTY, "timestamp": time}


def test_a_flag_that_is_no_boolean_is_unknown():
    assert row_of(b'{"toxic": "no", "redacted": false}') == {**EMPTY, "redacted": False}


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
    parquet.write_bytes(b"as it was")

    assert parquet_of(tmp_path / "no such file", parquet).read_bytes() == b"as it was"


def test_a_conversion_that_was_broken_off_leaves_nothing_that_counts(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "lines.partial").write_bytes(b"half of it")

    assert [row["model"] for row in converted(tmp_path, b'{"model": "a"}\n')] == ["a"]


@pytest.mark.parametrize("number", ["1681000000", "1681000000000", "1681000000.0"])
def test_a_time_in_numbers_counts_seconds_or_milliseconds(number):
    row = row_of(f'{{"timestamp": {number}}}'.encode())
    assert row["timestamp"] == datetime(2023, 4, 9, 0, 26, 40, tzinfo=UTC)
