import itertools
import json
import os
import random
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from stages.choice import choose

ROOT = Path(__file__).resolve().parents[2]
OFF = {
    **dict.fromkeys(("address_conversations", "address_countries", "address_languages")),
    **dict.fromkeys(("languages", "chat_models", "countries", "since", "until")),
    **{"toxic": "keep", "redacted": "keep"},
    **{"unit": "dialogue", "measure": "messages", "minimum": 1, "maximum": 1000},
}
USUAL = {
    "user_id": "'ua'",
    "user_known": "true",
    "conversation_hash": "dialogue_id",
    "chat_model": "'gpt-4'",
    "ended_at": "null::timestamptz",
    "language": "'English'",
    "language_detected": "false",
    "country": "'Peru'",
    "toxic": "false",
    "redacted": "false",
    "messages": "6",
    "rounds": "3",
    "source_schema": "'wildchat_1m'",
    "shard": "'a.jsonl'",
    "row": "rowid",
}


@pytest.fixture
def choose_from(given):
    """Choose from the conversations of a table that is drawn, usual ones where it does not say otherwise.

    Gives the drop reason and detail of each by its dialogue_id; nothing is dropped for nothing.
    """

    def make(drawing, **knobs):
        db = given(drawn=drawing)
        drawn = {name for name, *_ in db.execute("describe drawn").fetchall()}
        usual = "".join(f", {sql} as {name}" for name, sql in USUAL.items() if name not in drawn)
        db.execute(f"create or replace view dated as select *{usual} from drawn")
        db.execute("create or replace table conversations as select *, shard || ':' || row as source_row from dated")
        choose(db, OFF | knobs)
        return {
            one: (reason, detail)
            for one, reason, detail in db.execute("select dialogue_id, drop_reason, drop_detail from chosen").fetchall()
        }

    return make


def kept(verdicts):
    return sorted(one for one, verdict in verdicts.items() if verdict == (None, None))


def reasons(verdicts):
    return {one: reason for one, (reason, _) in verdicts.items()}


FLAGS = """
dialogue_id | language | toxic::boolean | redacted::boolean | chat_model | country
------------|----------|----------------|-------------------|------------|--------------
d1          | English  | false          | false             | gpt-4      | Peru
d2          | English  | true           | false             | gpt-4      | Peru
d3          | Chinese  | false          | true              | gpt-3.5    | China
d4          |          |                |                   |            |
"""


def test_with_all_filters_off_whatever_is_not_known_is_kept(choose_from):
    assert kept(choose_from(FLAGS)) == ["d1", "d2", "d3", "d4"]


@pytest.mark.parametrize(
    ("knobs", "drops"),
    [
        ({"languages": ["English"]}, {"d3": ("other_language", "Chinese"), "d4": ("unknown_language", None)}),
        ({"languages": ("chinese", "ENGLISH")}, {"d4": ("unknown_language", None)}),
        ({"toxic": "drop"}, {"d2": ("toxic", None), "d4": ("unknown_toxicity", None)}),
        ({"redacted": "drop"}, {"d3": ("redacted", None), "d4": ("unknown_redaction", None)}),
        ({"chat_models": ["GPT-4"]}, {"d3": ("other_model", "gpt-3.5"), "d4": ("unknown_model", None)}),
        ({"countries": ["peru"]}, {"d3": ("other_country", "China"), "d4": ("unknown_country", None)}),
    ],
)
def test_a_filter_keeps_what_it_names_in_any_case_and_tells_what_is_unknown_apart(choose_from, knobs, drops):
    assert choose_from(FLAGS, **knobs) == {one: drops.get(one, (None, None)) for one in ("d1", "d2", "d3", "d4")}


def test_a_name_that_stands_nowhere_in_the_source_keeps_nothing(choose_from):
    assert kept(choose_from(FLAGS, languages=["Englsh"])) == []


DAYS = """
dialogue_id | ended_at::timestamptz
------------|---------------------------------
d1          | 2023-04-30 23:59:59.999999+00
d2          | 2023-05-01 00:00:00+00
d3          | 2023-05-01 03:00:00+05:30
d4          | 2023-05-02 23:59:59.999999+00
d5          | 2023-05-03 00:00:00+00
d6          |
"""
ON_DAYS = {
    "d1": ("too_early", "2023-04-30"),
    "d2": (None, None),
    "d3": ("too_early", "2023-04-30"),
    "d4": (None, None),
    "d5": ("too_late", "2023-05-03"),
    "d6": ("no_date", None),
}


def test_both_days_count_and_a_day_is_one_of_utc(choose_from):
    assert choose_from(DAYS, since=date(2023, 5, 1), until=date(2023, 5, 2)) == ON_DAYS


def test_one_day_alone_leaves_the_other_side_open(choose_from):
    assert kept(choose_from(DAYS, since=date(2023, 5, 1))) == ["d2", "d4", "d5"]
    assert kept(choose_from(DAYS, until=date(2023, 5, 1))) == ["d1", "d2", "d3"]


IN_A_ZONE = """
import json, sys
from stages.choice import choose
from warehouse import connect
db = connect()
db.execute("create table conversations as from read_parquet($path)", {"path": sys.argv[1]})
db.execute(f"set TimeZone = '{sys.argv[2]}'")
choose(db, json.loads(sys.argv[3]))
print(json.dumps(db.execute("select dialogue_id, drop_reason, drop_detail from chosen order by all").fetchall()))
"""


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_days_are_those_of_utc_wherever_the_process_runs(choose_from, given, tmp_path, zone):
    choose_from(DAYS)
    given().execute(f"copy conversations to '{tmp_path}/conversations.parquet'")
    knobs = json.dumps(OFF | {"since": "2023-05-01", "until": "2023-05-02"})

    ran = subprocess.run(
        [sys.executable, "-c", IN_A_ZONE, f"{tmp_path}/conversations.parquet", zone, knobs],
        env={**os.environ, "TZ": zone},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )

    assert json.loads(ran.stdout) == [[one, *verdict] for one, verdict in ON_DAYS.items()]


TWICE = """
dialogue_id | conversation_hash | user_id | ended_at::timestamptz  | chat_model
------------|-------------------|---------|------------------------|-----------
d1          | h1                | ua      | 2023-05-01 00:00:00+00 | gpt-4
d2          | h1                | ua      | 2023-05-01 01:00:00+01 | gpt-3.5
d3          | h2                | ua      | 2023-05-01 00:00:00+00 | gpt-4
d4          | h1                | ub      | 2023-05-01 00:00:00+00 | gpt-4
d5          | h1                | ua      | 2023-05-02 00:00:00+00 | gpt-4
d6          | h1                | ua      |                        | gpt-4
d7          | h1                | ua      |                        | gpt-4
"""


def test_rows_repeat_one_another_by_hash_user_and_time_and_no_time_is_a_time(choose_from):
    assert choose_from(TWICE) == {
        **dict.fromkeys(["d2", "d3", "d4", "d5", "d6"], (None, None)),
        "d1": ("repeated_row", "a.jsonl:1"),
        "d7": ("repeated_row", "a.jsonl:5"),
    }


SAME = [
    "d1 | h1 | gpt-3.5 | Chinese | Peru  | 6",
    "d2 | h1 | gpt-3.5 | Chinese |       | 8",
    "d3 | h1 | gpt-3.5 | English | China | 6",
    "d4 | h1 |         | Chinese | China | 6",
]


@pytest.mark.parametrize("rows", list(itertools.permutations(SAME)))
def test_which_row_stays_is_told_by_what_it_holds_and_not_by_where_it_stands(choose_from, rows):
    head = "dialogue_id | conversation_hash | chat_model | language | country | messages::integer"

    assert kept(choose_from("\n".join([head, "-", *rows]))) == ["d1"]


def test_a_long_shuffle_of_repeated_rows_leaves_the_same_ones(choose_from):
    draws = random.Random(3)
    rows = {
        (
            f"h{draws.randrange(4)}",
            f"u{draws.randrange(3)}",
            draws.choice(["", "2023-05-01 00:00:00+00"]),
            model,
            country,
        )
        for model in ("gpt-4", "gpt-3.5", "")
        for country in ("Peru", "China", "")
        for _ in range(9)
    }
    head = "dialogue_id | conversation_hash | user_id | ended_at::timestamptz | chat_model | country"
    lowest = {}
    for row in rows:
        key = [(one == "", one) for one in row[3:]]  # the unknown comes last
        lowest[row[:3]] = min(lowest.get(row[:3], key), key)
    expected = sorted("/".join((*same, *(one for _, one in key))) for same, key in lowest.items())
    assert len(rows) > len(expected) > 10

    for _ in range(3):
        order = draws.sample(sorted(rows), len(rows))
        drawn = [f"{'/'.join(row)} | {' | '.join(row)}" for row in order]
        assert kept(choose_from("\n".join([head, "-", *drawn]))) == expected


ADDRESSES = """
dialogue_id | conversation_hash | user_id | user_known::boolean | country | language
------------|-------------------|---------|---------------------|---------|---------
d1          | h1                | ua      | true                | Peru    | English
d2          | h2                | ua      | true                | Peru    | Spanish
d3          | h3                | ua      | true                |         | Chinese
d4          | h3                | ua      | true                | Peru    | Chinese
d5          | h5                | ub      | true                | Peru    | English
d6          | h6                | ub      | true                | Chile   |
d7          | h7                | uc      | false               | Peru    | English
d8          | h8                | uc      | false               | Chile   | Spanish
"""


@pytest.mark.parametrize(
    ("knobs", "dropped"),
    [
        ({"address_conversations": 3}, {}),  # the row that repeats counts for nothing
        ({"address_conversations": 2}, {"ua": "3 conversations"}),
        ({"address_countries": 1}, {"ub": "2 countries"}),
        ({"address_languages": 2}, {"ua": "3 languages"}),
        (
            {"address_conversations": 1, "address_languages": 1},
            {"ua": "3 conversations, 3 languages", "ub": "2 conversations"},
        ),
    ],
)
def test_an_address_of_more_than_so_many_goes_with_all_its_conversations(choose_from, knobs, dropped):
    verdicts = choose_from(ADDRESSES, **knobs)

    users = {"d1": "ua", "d2": "ua", "d4": "ua", "d5": "ub", "d6": "ub", "d7": "uc", "d8": "uc"}
    shared = {one: ("shared_address", dropped[user]) for one, user in users.items() if user in dropped}
    assert verdicts == {**dict.fromkeys(users, (None, None)), "d3": ("repeated_row", "a.jsonl:3"), **shared}


def test_large_numbers_are_told_in_groups_of_three_digits(choose_from):
    rows = "".join(f"d{number} | h{number}\n" for number in range(1204))

    verdicts = choose_from(f"dialogue_id | conversation_hash\n-\n{rows}", address_conversations=1000)

    assert set(verdicts.values()) == {("shared_address", "1,204 conversations")}


def test_the_first_reason_in_the_stated_order_counts(choose_from):
    verdicts = choose_from(
        """
        dialogue_id | conversation_hash | user_id | language | toxic::boolean | ended_at::timestamptz  | messages::int
        -
        d1          | h1                | ua      | Spanish  | true           |                        | 2
        d2          | h1                | ua      | Spanish  | true           |                        | 2
        d3          | h3                | ua      | Spanish  | true           |                        | 2
        d4          | h4                | ub      | Spanish  | true           |                        | 2
        d5          | h5                | uc      | English  | true           |                        | 2
        d6          | h6                | ud      | English  | false          |                        | 2
        d7          | h7                | ue      | English  | false          | 2023-05-01 00:00:00+00 | 2
        d8          | h8                | uf      | English  | false          | 2023-05-01 00:00:00+00 | 6
        """,
        address_conversations=1,
        languages=["English"],
        toxic="drop",
        since=date(2023, 5, 1),
        minimum=3,
    )

    assert reasons(verdicts) == {
        "d1": "shared_address",
        "d2": "repeated_row",
        "d3": "shared_address",
        "d4": "other_language",
        "d5": "toxic",
        "d6": "no_date",
        "d7": "too_few_turns",
        "d8": None,
    }


def test_a_user_sums_up_what_the_filters_leave(choose_from):
    drawing = """
    dialogue_id | conversation_hash | user_id | language | messages::integer
    ------------|-------------------|---------|----------|------------------
    d1          | h1                | ua      | English  | 4
    d2          | h2                | ua      | Chinese  | 900
    d3          | h3                | ua      | English  | 3
    d4          | h3                | ua      | English  | 3
    d5          | h5                | ub      | English  | 4
    d6          | h6                | ub      | Chinese  | 4
    """

    verdicts = choose_from(drawing, unit="user", minimum=7, maximum=7, languages=["English"])

    assert verdicts == {
        "d1": (None, None),
        "d2": ("other_language", "Chinese"),
        "d3": (None, None),
        "d4": ("repeated_row", "a.jsonl:2"),
        "d5": ("too_few_turns", "4 messages"),
        "d6": ("other_language", "Chinese"),
    }
