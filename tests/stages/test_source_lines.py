import json
from datetime import UTC, datetime

import pytest

from stages.source_lines import row_of

EMPTY = {
    "source_schema": "wildchat_1m",
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
SAID = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("record", "schema", "key"),
    [
        ({"conversation_id": "a"}, "wildchat_v1", "a"),
        ({"conversation_id": "a", "conversation_hash": None}, "wildchat_v1", "a"),
        ({"conversation_id": "a", "conversation": [SAID | {"toxic": False}]}, "wildchat_v1", "a"),
        ({"conversation_hash": "a"}, "wildchat_1m", "a"),
        ({"conversation_hash": "a", "conversation_id": "b"}, "wildchat_1m", "a"),
        ({"conversation_hash": "a", "conversation": [SAID | {"turn_identifier": 1}]}, "wildchat_1m", "a"),
        ({"conversation_hash": "a", "conversation": [SAID, SAID | {"created": 1700631835}]}, "wildchat_4.8m", "a"),
        ({"conversation_hash": "a", "conversation": [SAID | {"created": None}]}, "wildchat_4.8m", "a"),
        ({"conversation_hash": " ", "conversation_id": "a"}, "wildchat_v1", "a"),
        ({"conversation_hash": ""}, "wildchat_1m", None),
        ({}, "wildchat_1m", None),
    ],
)
def test_the_schema_of_a_row_is_told_by_its_key_and_by_the_fields_of_messages(record, schema, key):
    row = row_of(json.dumps(record).encode())

    assert (row["source_schema"], row["conversation_hash"]) == (schema, key)


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
        (" 2023-04-09 00:02:53 UTC\n", datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)),
        ("2023-04-09", datetime(2023, 4, 9, tzinfo=UTC)),
        ("2023-04-09 00:02:53.1234569", datetime(2023, 4, 9, 0, 2, 53, 123456, tzinfo=UTC)),
    ],
)
def test_times_are_utc_where_they_name_no_zone(text, time):
    assert row_of(json.dumps({"timestamp": text}).encode()) == {**EMPTY, "timestamp": time}


@pytest.mark.parametrize(
    "time", [True, [], {}, 1e300, -1e300, 10**400, float("nan"), "", " ", "yesterday", "1681000000"]
)
def test_what_is_no_time_costs_the_time_and_not_the_row(time):
    assert row_of(json.dumps({"timestamp": time, "model": "gpt-4"}).encode()) == {**EMPTY, "model": "gpt-4"}


def test_a_flag_that_is_no_boolean_is_unknown():
    assert row_of(b'{"toxic": "no", "redacted": false}') == {**EMPTY, "redacted": False}


@pytest.mark.parametrize("number", ["1681000000", "1681000000000", "1681000000.0"])
def test_a_time_in_numbers_counts_seconds_or_milliseconds(number):
    row = row_of(f'{{"timestamp": {number}}}'.encode())
    assert row["timestamp"] == datetime(2023, 4, 9, 0, 26, 40, tzinfo=UTC)
