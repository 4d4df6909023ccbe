import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages import conversations, dialogues
from stages.secret import Secret
from stages.source import Shard, Source
from stages.workers import HERE, Here
from warehouse import connect

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TABLE = """
dialogue_id | user_id | messages::integer | rounds::integer
------------|---------|-------------------|----------------
d1          | ua      | 4                 | 2
d2          | ua      | 8                 | 4
d3          | ua      | 300               | 150
d4          | ub      | 4                 | 2
d5          | ub      | 3                 | 2
d6          | uc      | 249               | 125
d7          | uc      | 250               | 125
d8          | ud      | 5                 | 3
d8          | ud      | 5                 | 3
d9          | ue      | 6                 | 3
"""
ONE = "dialogue_id | user_id | messages::integer | rounds::integer\n-\nd1 | ua | 6 | 3\n"
PLACES = """
    create table conversations as
    select *, 'h' || dialogue_id as conversation_hash, 'gpt-4' as chat_model, null::timestamptz as ended_at,
        'English' as language, false as language_detected, 'Peru' as country, false as toxic, false as redacted,
        true as user_known, 'wildchat_1m' as source_schema,
        'a.jsonl' as shard, row_number() over () - 1 as row, 'a.jsonl:' || row as source_row
    from drawn
"""
KNOBS = {
    **dict.fromkeys(("address_conversations", "address_countries", "address_languages")),
    **dict.fromkeys(("languages", "chat_models", "countries", "since", "until")),
    **{"toxic": "keep", "redacted": "keep"},
    **{"unit": "dialogue", "measure": "messages", "minimum": 6, "maximum": 249},
}


@pytest.fixture
def kept(given, settle, source_of, talk):
    """Give the kept dialogues of the table, and the drops by source row, under the given knobs."""

    def make(drawing=TABLE, records=None, **knobs):
        db = given(drawn=drawing)
        db.execute(PLACES)
        records = records or [talk(messages=n) for (n,) in db.execute("select messages from drawn").fetchall()]
        return settle(db, dialogues, source=source_of({"a.jsonl": records}), **(KNOBS | knobs))

    return make


def ids(settled):
    return sorted(settled.column("dialogue_id"))


@pytest.mark.parametrize(
    ("unit", "measure", "expected"),
    [
        ("dialogue", "messages", ["d2", "d6", "d9"]),
        ("dialogue", "rounds", ["d3", "d6", "d7"]),
        # ua 4 + 8 + 300, ub 4 + 3, uc 249 + 250, ud 5 (the row that repeats counts once), ue 6
        ("user", "messages", ["d4", "d5", "d9"]),
        # ua 2 + 4 + 150, ub 2 + 2, uc 125 + 125, ud 3, ue 3
        ("user", "rounds", ["d1", "d2", "d3"]),
    ],
)
def test_unit_and_measure_decide_what_counts_as_a_turn(kept, unit, measure, expected):
    assert ids(kept(unit=unit, measure=measure)) == expected


def test_each_drop_says_why_and_by_how_much(kept):
    drops = kept(unit="dialogue", measure="messages").drops

    assert sorted((one["source_row"], one["drop_reason"], one["drop_detail"]) for one in drops) == [
        ("a.jsonl:0", "too_few_turns", "4 messages"),
        ("a.jsonl:2", "too_many_turns", "300 messages"),
        ("a.jsonl:3", "too_few_turns", "4 messages"),
        ("a.jsonl:4", "too_few_turns", "3 messages"),
        ("a.jsonl:6", "too_many_turns", "250 messages"),
        ("a.jsonl:7", "too_few_turns", "5 messages"),
        ("a.jsonl:8", "repeated_row", "a.jsonl:7"),
    ]


def test_a_user_dropped_for_its_sum_tells_the_sum(kept):
    drops = kept(unit="user", measure="rounds").drops

    details = {one["dialogue_id"]: one["drop_detail"] for one in drops if one["drop_reason"] != "repeated_row"}
    assert details == {
        "d4": "4 rounds",
        "d5": "4 rounds",
        "d6": "250 rounds",
        "d7": "250 rounds",
        "d8": "3 rounds",
        "d9": "3 rounds",
    }


def test_of_rows_that_hold_the_same_three_times_the_first_is_kept(kept):
    settled = kept(ONE + "d1 | ua | 6 | 3\n" * 2)

    assert settled.column("source_row") == ["a.jsonl:0"]
    assert settled.reasons == {"a.jsonl:1": "repeated_row", "a.jsonl:2": "repeated_row"}


def test_a_filter_of_the_recipe_reaches_the_conversations(kept):
    assert set(kept(countries=["Chile"]).reasons.values()) == {"other_country", "repeated_row"}


def test_what_was_said_is_there_in_its_order_without_control_characters(kept, talk):
    texts = ["tab\tstays", "line\r\nbreaks stay", "bell\x07 goes", "zero \x00byte goes", "\x7f", "是的。😀\u200d"]
    said = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]

    [row] = kept(ONE, [talk(conversation=said)]).rows

    clean = ["tab\tstays", "line\r\nbreaks stay", "bell goes", "zero byte goes", "", "是的。😀\u200d"]
    assert row["turns"] == [{"role": one["role"], "text": text} for one, text in zip(said, clean, strict=True)]


@pytest.mark.parametrize("code", [code for code in range(0x20) if chr(code) not in "\t\n\r"] + [0x7F])
def test_no_control_character_is_left_wherever_it_stands(kept, talk, code):
    said = [{"role": "user", "content": f"{chr(code)}one{chr(code) * 2}two{chr(code)}"}] * 6

    [row] = kept(ONE, [talk(conversation=said)]).rows

    assert [turn["text"] for turn in row["turns"]] == ["onetwo"] * 6


def test_a_dropped_conversation_brings_no_text_along(kept):
    assert {"turns" in one for one in kept().drops} == {False}


def test_minimum_and_maximum_are_both_kept(kept):
    assert sorted(kept(minimum=5, maximum=8).column("messages")) == [5, 6, 8]


def test_a_row_tells_of_which_schema_it_is_and_whether_its_user_is_known(kept):
    assert [(row["source_schema"], row["user_known"]) for row in kept(ONE).rows] == [("wildchat_1m", True)]


def test_of_many_rows_in_many_shards_each_has_its_own_text(settle, talk, tmp_path):
    draws, shards = random.Random(5), []
    with connect() as db:
        db.execute("create table drawn (dialogue_id text, user_id text, shard text, row bigint, messages integer)")
        for name in ("b.parquet", "a.parquet", "c.parquet"):
            lengths = [draws.randrange(1, 12) for _ in range(4000)]
            records = [
                talk(conversation=[{"role": "user", "content": f"{name}:{row}"}] * length)
                for row, length in enumerate(lengths)
            ]
            pq.write_table(pa.Table.from_pylist(records), tmp_path / name, row_group_size=100)
            shards.append(Shard(name, tmp_path / name, 1, name))
            rows = [(f"d{name}{row}", f"u{row}", name, row, length) for row, length in enumerate(lengths)]
            drawn = pa.Table.from_pylist(
                [dict(zip(("dialogue_id", "user_id", "shard", "row", "messages"), row, strict=True)) for row in rows]
            )
            db.from_arrow(drawn).insert_into("drawn")
        columns = PLACES.replace("'a.jsonl' as shard, row_number() over () - 1 as row, ", "messages as rounds,")
        db.execute(columns.replace("'a.jsonl:' || row", "shard || ':' || row"))
        expected = db.execute("""
            select source_row from conversations where messages between 6 and 249 order by source_row
        """).fetchall()

        rows = settle(db, dialogues, source=Source(tuple(shards), tmp_path), **KNOBS).rows

    assert sorted((row["source_row"],) for row in rows) == expected
    assert all({turn["text"] for turn in row["turns"]} == {row["source_row"]} for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the real dialogues are not part of the repository")
def test_real_dialogues_of_three_schemas_say_what_their_files_say(settle, tmp_path):
    files = sorted(path for path in (SHARED / "wildchat").rglob("*.parquet"))
    names = [path.relative_to(SHARED).as_posix() for path in files]
    shards = tuple(Shard(name, path, 1, name) for name, path in zip(names, files, strict=True))
    said = {
        f"{name}:{row}": [(message["role"], message["content"]) for message in messages]
        for name, path in zip(names, files, strict=True)
        for row, messages in enumerate(pq.read_table(path, columns=["conversation"])["conversation"].to_pylist())
    }
    with connect() as db:
        source = Source(shards, tmp_path)
        made = conversations(db, source=source, secret=Secret("a home's own"))
        made.filter("drop_reason is null").create("read")
        db.execute("create table conversations as select * exclude (drop_reason) from read")
        settled = settle(db, dialogues, source=source, **KNOBS)

    clean = dict.fromkeys(code for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r")
    wanted = {row for row, messages in said.items() if 6 <= len(messages) <= 249}
    repeated = {row for row, reason in settled.reasons.items() if reason == "repeated_row"}
    assert set(settled.column("source_row")) == wanted - repeated
    for row in settled.rows:
        expected = [(role, text.translate(clean)) for role, text in said[row["source_row"]]]
        assert [(turn["role"], turn["text"]) for turn in row["turns"]] == expected


@pytest.mark.parametrize("knobs", [{}, {"until": "2000-01-01"}, {"countries": ["Peru"]}])
def test_shard_by_shard_the_rows_are_the_same_where_a_shard_keeps_nothing_too(source_of, talk, settle, knobs):
    talks = [talk(f"h{n}", f"ip{n % 5}", messages=2 * n, country="Peru") for n in range(8)]
    source = source_of({"a.jsonl": talks[:2], "b.jsonl": talks[2:], "c.jsonl": talks[2:4], "d.jsonl": b""})

    def made(workers):
        with connect() as db:
            source.show(db)  # a build accounts for its rows
            read = settle(db, conversations, source=source, secret=Secret("s"), workers=workers)
            rows = db.from_arrow(pa.Table.from_pylist(read.rows))
            rows.select("* replace (messages::integer as messages, rounds::integer as rounds)").create("conversations")
            chosen = settle(db, dialogues, source=source, workers=workers, **(KNOBS | knobs))
        return read.rows, read.reasons, sorted(chosen.rows, key=str), chosen.reasons

    assert made(Here(3)) == made(HERE)
    assert bool(made(HERE)[2]) == ("until" not in knobs)
