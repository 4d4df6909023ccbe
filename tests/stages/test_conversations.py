import hashlib

import pyarrow as pa
import pytest

from stages import conversations
from stages.secret import Secret
from warehouse import connect

SECRET = Secret("a home's own")
SAID = [{"role": "user", "content": "hi"}]


def first_16(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture
def made(source_of, settle):
    def make(files, secret=SECRET):
        with connect() as db:
            return settle(db, conversations, source=source_of(files), secret=secret)

    return make


def test_ids_come_from_hash_user_time_model_and_secret(made, talk):
    [row] = made({"a.jsonl": [talk("h1", "ip1", timestamp="1970-01-01T00:00:01Z")]}).rows

    assert row["dialogue_id"] == "d" + first_16("h1|ip1|1000000|gpt-4")
    assert row["user_id"] == "u" + first_16("a home's own|ip1")


def test_a_hash_that_repeats_with_another_user_time_or_model_is_another_dialogue(made, talk):
    records = [talk(), talk(ip="ip2"), talk(model="gpt-3.5"), talk(timestamp="2024-01-01T00:00:00Z"), talk()]

    ids = made({"a.jsonl": records}).column("dialogue_id")

    assert len(set(ids)) == 4
    assert ids[0] == ids[4]


def test_a_part_that_is_unknown_keeps_its_place_in_an_id(made, talk):
    records = [talk("h1", "ip1", timestamp=time, model=model) for time, model in [(None, "1"), ("1970-01-01", None)]]

    ids = made({"a.jsonl": records}).column("dialogue_id")

    assert ids == ["d" + first_16("h1|ip1||1"), "d" + first_16("h1|ip1|0|")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a|b", "c", "m"), ("a", "b|c", "m")),
        (("a\\", "b|c", "m"), ("a", "|b|c", "m")),
        (("a\\|b", "c", "m"), ("a\\", "b|c", "m")),
        (("a", "b", None), ("a", "b|1000000", None)),
    ],
)
def test_no_sign_in_a_part_of_an_id_makes_two_dialogues_one(made, talk, one, other):
    times = ["1970-01-01T00:00:01Z", None if other[2] is None else "1970-01-01T00:00:01Z"]
    records = [
        talk(hash, ip, model=model, timestamp=time) for (hash, ip, model), time in zip((one, other), times, strict=True)
    ]

    assert len(set(made({"a.jsonl": records}).column("dialogue_id"))) == 2


def test_a_sign_between_parts_is_told_from_one_in_a_part(made, talk):
    [row] = made({"a.jsonl": [talk("a|b", "c\\d", timestamp="1970-01-01", model="m")]}).rows

    assert row["dialogue_id"] == "d" + first_16(r"a\|b|c\\d|0|m")


def test_times_in_numbers_tell_dialogues_apart(made, talk):
    seconds = [talk("h1", timestamp=time) for time in (1681000000, 1681000001)]

    settled = made({"a.parquet": seconds})

    assert [time.isoformat() for time in settled.column("ended_at")] == [
        *("2023-04-09T00:26:40+00:00", "2023-04-09T00:26:41+00:00")
    ]
    assert len(set(settled.column("dialogue_id"))) == 2


def test_another_secret_gives_other_users_and_the_same_dialogues(made, talk):
    [one], [other] = (made({"a.jsonl": [talk()]}, secret).rows for secret in (SECRET, Secret("another")))

    assert one["user_id"] != other["user_id"]
    assert one["dialogue_id"] == other["dialogue_id"]


def test_a_row_tells_who_when_how_long_and_where(made, talk):
    record = talk("h1", messages=5, language="Spanish", country="Peru", toxic=True, redacted=False)

    [row] = made({"a.jsonl": [record], "b.jsonl": b""}).rows

    assert (row["messages"], row["rounds"], row["shard"], row["row"], row["source_row"]) == (
        5,
        3,
        "a.jsonl",
        0,
        "a.jsonl:0",
    )
    assert (row["conversation_hash"], row["chat_model"], row["ended_at"].isoformat()) == (
        *("h1", "gpt-4", "2023-04-09T00:02:53+00:00"),
    )
    assert (row["language"], row["language_detected"]) == ("Spanish", False)
    assert (row["country"], row["toxic"], row["redacted"]) == ("Peru", True, False)


def test_a_language_is_detected_in_the_users_words_where_the_source_names_none(made, talk):
    said = [
        {"role": "assistant", "content": "Here is what I would do this evening if I were in your place."},
        {"role": "user", "content": "¿Puedes ayudarme a escribir una carta para mi madre? Vivo lejos de ella."},
    ]
    silent = [{"role": "user", "content": "1 + 1 = ?"}]

    settled = made({"a.jsonl": [talk(conversation=said), talk(conversation=silent)]})

    assert settled.column("language") == ["Spanish", None]
    assert settled.column("language_detected") == [True, True]


def test_languages_are_detected_as_often_as_the_stage_runs(source_of, settle, talk):
    spoken = [{"role": "user", "content": "Would you help me to write a letter to my mother?"}]
    source = source_of({"a.jsonl": [talk(conversation=spoken), talk(language="Latin")]})

    with connect() as db:
        runs = [settle(db, conversations, source=source, secret=SECRET).column("language") for _ in range(2)]

    assert runs == [["English", "Latin"]] * 2


def of_v1(key, **more):
    said = [{"role": "user", "content": "hi", "language": "English", "redacted": False, "toxic": False}]
    return {
        **{"conversation_id": key, "model": "gpt-4", "conversation": said, "language": "English"},
        **{"timestamp": "1970-01-01T00:00:01Z", **more},
    }


@pytest.mark.parametrize("end", ["jsonl", "parquet"])
def test_a_conversation_of_the_schema_without_users_is_a_user_of_its_own(made, end):
    settled = made({f"a.{end}": [of_v1("h1"), of_v1("h2"), of_v1("h1", model="gpt-3.5")]})

    assert settled.column("user_known") == [False] * 3
    assert settled.column("source_schema") == ["wildchat_v1"] * 3
    users = settled.column("user_id")
    assert users[0] == users[2] != users[1]
    assert users[0] == "u" + first_16("a home's own| conversation|h1")
    assert settled.column("dialogue_id")[:2] == [
        "d" + first_16("h1| conversation|h1|1000000|gpt-4"),
        "d" + first_16("h2| conversation|h2|1000000|gpt-4"),
    ]


def test_no_address_is_the_user_or_the_dialogue_of_a_conversation_without_one(made, talk):
    time = "1970-01-01T00:00:01Z"
    addresses = ["conversation|h1", " conversation|h1", "\u00a0conversation|h1", "h1", "1000000"]
    records = [of_v1("h1"), *(talk("h1", address, timestamp=time) for address in addresses)]

    rows = made({"a.jsonl": records}).rows

    assert [row["user_known"] for row in rows] == [False, *[True] * 5]
    for column in ("user_id", "dialogue_id"):
        assert rows[0][column] not in [row[column] for row in rows[1:]]


def test_a_row_without_its_user_is_dropped_where_the_schema_has_one(made, talk):
    later = talk("h3", None)
    later["conversation"][1]["created"] = 1700631835

    settled = made({"a.jsonl": [of_v1("h1"), talk("h2", None), later, talk("h4")]})

    assert [(row["row"], row["user_known"]) for row in settled.rows] == [(0, False), (3, True)]
    assert settled.reasons == {"a.jsonl:1": "no_user", "a.jsonl:2": "no_user"}


def test_the_schema_of_each_row_is_told(made, talk):
    later = talk("h3")
    later["conversation"][1]["created"] = 1700631835

    settled = made({"a.jsonl": [talk("h1"), of_v1("h2")], "b.jsonl": [later]})

    assert settled.column("source_schema") == ["wildchat_1m", "wildchat_v1", "wildchat_4.8m"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"conversation": None}, "no_conversation"),
        ({"conversation": []}, "empty_conversation"),
        ({"conversation_hash": None}, "no_conversation_hash"),
        ({"hashed_ip": None}, "no_user"),
        ({"conversation": [*SAID, {"role": "assistant", "content": None}]}, "message_without_text"),
        ({"conversation": [*SAID, {"role": "system", "content": "be kind"}]}, "unknown_role"),
        ({"conversation": [*SAID, {"role": None, "content": "what"}]}, "unknown_role"),
        ({"conversation": "hi"}, "wrong_types"),
    ],
)
def test_a_row_that_holds_no_conversation_is_dropped_and_its_neighbours_stay(made, talk, change, reason):
    settled = made({"a.jsonl": [talk("h1"), talk("h2") | change, talk("h3")]})

    assert settled.column("source_row") == ["a.jsonl:0", "a.jsonl:2"]
    assert settled.reasons == {"a.jsonl:1": reason}


def test_every_line_is_a_row_or_a_drop(made):
    good = b'{"conversation_hash": "h", "hashed_ip": "i", "conversation": [{"role": "user", "content": "hi"}]}'
    lines = [good, b"", b"{", b"[]", b"\xff", b'{"conversation": 1}', b"\xef\xbb\xbf" + good, b"{}", b'{"conv']

    settled = made({"a.jsonl": b"\n".join(lines)})

    assert settled.column("row") == [0, 6]
    reasons = ["blank_line", "not_json", "not_an_object", "not_utf8", "wrong_types", "no_conversation", "not_json"]
    assert list(settled.reasons.items()) == [
        (f"a.jsonl:{row}", reason) for row, reason in zip((1, 2, 3, 4, 5, 7, 8), reasons, strict=True)
    ]


def test_a_parquet_row_whose_conversation_is_null_is_dropped(made, talk):
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    table = pa.Table.from_pylist([talk("h1"), talk("h2", conversation=None), talk("h3")])
    table = table.set_column(3, "conversation", table["conversation"].cast(pa.list_(message)))

    settled = made({"a.parquet": table})

    assert settled.column("conversation_hash") == ["h1", "h3"]
    assert settled.reasons == {"a.parquet:1": "no_conversation"}


def test_a_source_without_a_row_gives_no_row(made):
    assert made({"a.jsonl": b""}).rows == []


def test_a_secret_is_never_shown():
    assert "a home's own" not in f"{SECRET!r} {SECRET} {SECRET.identity}"


def test_a_source_of_many_shards_has_rows_in_the_order_of_names(made, talk):
    settled = made({f"{name}.jsonl": [talk(name)] for name in ("c", "a", "b")})

    assert settled.column("conversation_hash") == ["a", "b", "c"]
