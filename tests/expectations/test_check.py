import json
import math
import threading
from dataclasses import replace

import duckdb
import pytest

from expectations.check import ContractError, Report, check
from expectations.contract import Column, Contract, Rule

MESSAGES = 'STRUCT("role" VARCHAR, "text" VARCHAR)[]'

DIALOGUES = Contract(
    about="one dialogue",
    columns=(
        Column("dialogue_id", unique=True, pattern="d[0-9]+", about="Id of the dialogue."),
        Column("language", values=("English", "French"), about="Language of most messages."),
        Column("turns", "INTEGER", between=(2, 9), about="Number of messages."),
        Column("score", "DOUBLE", null=True, about="Share of turns with a memory."),
        Column("messages", MESSAGES, about="The messages in order."),
    ),
)

GOOD = [
    ("d1", "English", 2, 0.5),
    ("d2", "French", 9, None),
    ("d3", "English", 3, 0.0),
]


@pytest.fixture
def db():
    with duckdb.connect(config={"python_enable_replacements": False}) as db:
        yield db


def fill(db, rows, table="dialogues"):
    db.execute(
        f"create table {table} (dialogue_id varchar, language varchar, turns integer, score double,"
        " messages struct(role varchar, text varchar)[])"
    )
    for row in rows:
        db.execute(f"insert into {table} values (?, ?, ?, ?, [{{role: 'user', text: 'SECRET BODY'}}])", row)


def failures(db, contract=DIALOGUES):
    report = check(db, "dialogues", contract)
    assert report.passed == (not report.failures)
    return list(report.failures)


def with_row(*row):
    return [*GOOD, row]


def test_a_table_that_keeps_its_contract_passes(db):
    fill(db, GOOD)

    report = check(db, "dialogues", DIALOGUES)
    report.raise_if_broken()

    assert (report.table, report.rows, report.passed, report.failures) == ("dialogues", 3, True, ())


@pytest.mark.parametrize(
    ("row", "failure"),
    [
        (("d4", None, 3, 0.0), "column language has 1 null (dialogue_id: d4)"),
        (("d4", "Latin", 3, 0.0), "column language has 1 value not one of English, French (dialogue_id: d4)"),
        (("d4", "English", 1, 0.0), "column turns has 1 value not from 2 to 9 (dialogue_id: d4)"),
        (("d4", "English", 10, 0.0), "column turns has 1 value not from 2 to 9 (dialogue_id: d4)"),
        (("d4", "English", 3, math.nan), "column score has 1 value not finite (dialogue_id: d4)"),
        (("d4", "English", 3, math.inf), "column score has 1 value not finite (dialogue_id: d4)"),
        (("xd4", "English", 3, 0.0), "column dialogue_id has 1 value not like d[0-9]+ (dialogue_id: xd4)"),
        (("d1", "English", 3, 0.0), "column dialogue_id has 1 duplicate (dialogue_id: d1)"),
    ],
)
def test_each_limit_is_held_and_names_the_row_that_breaks_it(db, row, failure):
    fill(db, with_row(*row))

    assert failures(db) == [f"dialogues: {failure}"]


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\N{NO-BREAK SPACE}"])
def test_a_text_of_white_space_is_empty_unless_allowed(db, text):
    db.execute("create table notes as select ? as note", [text])
    column = Column("note")

    assert check(db, "notes", Contract("a note", (column,))).failures == ("notes: column note has 1 empty text",)
    assert check(db, "notes", Contract("a note", (replace(column, empty=True),))).passed


@pytest.mark.parametrize("between", [(None, 5), (5, None)])
def test_a_range_may_be_open_on_one_side(db, between):
    db.execute("create table numbers as from (values (4), (5), (6)) t(n)")
    column = Column("n", "INTEGER", unique=True, between=between)

    [failure] = check(db, "numbers", Contract("a number", (column,))).failures

    low, high = between
    wrong = {4, 5, 6} - {n for n in (4, 5, 6) if (low is None or n >= low) and (high is None or n <= high)}
    assert failure.endswith(f"(n: {wrong.pop()})")


def test_nulls_that_are_allowed_break_no_other_limit(db):
    columns = (
        Column("a", null=True, unique=True, values={"x"}, pattern="x"),
        Column("n", "DOUBLE", null=True, between=(0, 1)),
    )
    db.execute("create table sparse as from (values (null, null), (null, null)) t(a, n)")
    db.execute("alter table sparse alter a type varchar; alter table sparse alter n type double")

    assert check(db, "sparse", Contract("a row", columns)).passed


def test_an_empty_table_fails_unless_it_may_be_empty(db):
    fill(db, [])

    assert failures(db) == ["dialogues: table has 0 rows, fewer than 1"]
    assert failures(db, replace(DIALOGUES, min_rows=0)) == []


def test_columns_are_compared_by_name_and_exact_type(db):
    fill(db, GOOD)
    db.execute("alter table dialogues alter turns type bigint")
    db.execute("alter table dialogues drop score")
    db.execute("alter table dialogues add column mood varchar")

    assert failures(db) == [
        "dialogues: table has 1 column not in the contract: mood",
        "dialogues: column turns is BIGINT, not INTEGER",
        "dialogues: column score is missing",
    ]


def test_a_nested_type_is_compared_whole(db):
    fill(db, GOOD)
    wrong = MESSAGES.replace('"text"', '"content"')
    columns = (*DIALOGUES.columns[:-1], replace(DIALOGUES.columns[-1], type=wrong))

    assert failures(db, replace(DIALOGUES, columns=columns)) == [
        f"dialogues: column messages is {MESSAGES}, not {wrong}"
    ]


def test_right_columns_are_still_checked_beside_a_wrong_one(db):
    fill(db, with_row("d4", None, 3, 0.0))
    db.execute("alter table dialogues drop score")

    assert "dialogues: column language has 1 null (dialogue_id: d4)" in failures(db)


def test_a_key_of_two_columns_allows_each_to_repeat_but_not_both(db):
    db.execute("create table turns as from (values ('a', 1), ('a', 2), ('b', 1)) t(id, n)")
    contract = Contract("a turn", (Column("id"), Column("n", "INTEGER")), unique=(("id", "n"),))

    assert check(db, "turns", contract).passed
    db.execute("insert into turns values ('a', 2), ('a', 2), ('b', 1)")
    assert check(db, "turns", contract).failures == ("turns: key id, n has 3 duplicates (id, n: a / 2, b / 1)",)


def test_a_null_in_a_key_of_two_columns_is_a_value(db):
    db.execute("create table turns as from (values ('a', null::integer), ('a', null)) t(id, n)")
    contract = Contract("a turn", (Column("id"), Column("n", "INTEGER", null=True)), unique=(("id", "n"),))

    assert check(db, "turns", contract).failures == ("turns: key id, n has 1 duplicate (id, n: a / None)",)


def test_a_rule_reads_the_candidate_by_the_table_s_own_name(db):
    fill(db, GOOD)
    db.execute("attach ':memory:' as wh")
    fill(db, with_row("d4", "French", 3, 0.0), table="wh.main.candidate")
    rule = Rule("French is long", "select * from dialogues where language = 'French' and turns < 5;")

    report = check(db, "wh.main.candidate", replace(DIALOGUES, rules=(rule,)), name="dialogues")

    assert report.failures == ("dialogues: rule French is long is broken by 1 row (dialogue_id: d4)",)


def test_a_rule_may_compare_with_another_table(db):
    fill(db, GOOD)
    db.execute("create table users as select 'd1' as dialogue_id")
    rule = Rule("has a user", "select turns from dialogues anti join users using (dialogue_id)")

    assert failures(db, replace(DIALOGUES, rules=(rule,))) == ["dialogues: rule has a user is broken by 2 rows"]


def test_a_rule_is_not_asked_of_columns_that_are_not_there(db):
    fill(db, GOOD)
    db.execute("alter table dialogues drop score")
    rule = Rule("scored", "from dialogues where score is null")

    assert failures(db, replace(DIALOGUES, rules=(rule,))) == ["dialogues: column score is missing"]


def test_a_table_is_checked_inside_a_transaction_that_is_rolled_back(db):
    db.begin()
    fill(db, with_row("d4", None, 3, 0.0))

    report = check(db, "memory.main.dialogues", DIALOGUES)
    db.rollback()

    assert report.failures == ("dialogues: column language has 1 null (dialogue_id: d4)",)
    assert db.execute("show tables").fetchall() == []


def test_counts_agree_with_counting_in_python(db):
    rows = [(f"d{i}", [None, "English", "Latin"][i % 3], i % 13, None) for i in range(1000)]
    fill(db, rows)

    nulls = sum(language is None for _, language, _, _ in rows)
    foreign = sum(language == "Latin" for _, language, _, _ in rows)
    outside = sum(not 2 <= turns <= 9 for _, _, turns, _ in rows)
    assert [failure.partition(" (")[0] for failure in failures(db)] == [
        f"dialogues: column language has {nulls} nulls",
        f"dialogues: column language has {foreign} values not one of English, French",
        f"dialogues: column turns has {outside} values not from 2 to 9",
    ]


def test_examples_are_at_most_three_short_keys_and_never_a_body(db):
    fill(db, [("d" + "1" * (200 + i), None, 3, 0.0) for i in range(5)])

    [failure] = failures(db)

    examples = failure.partition("dialogue_id: ")[2].rstrip(")").split(", ")
    assert len(examples) == 3
    assert all(len(example) == 80 for example in examples)
    assert "SECRET BODY" not in check(db, "dialogues", DIALOGUES).to_json()


def test_control_characters_of_a_key_do_not_reach_the_terminal(db):
    fill(db, [("d1\x1b[2J", None, 3, 0.0)])

    assert not any("\x1b" in failure for failure in failures(db))


def test_a_failure_ends_in_one_short_line_with_its_report(db):
    columns = tuple(Column(f"c{i}") for i in range(9))
    names = ", ".join(f"null::varchar as c{i}" for i in range(9))
    db.execute(f"create table blanks as select {names}")

    report = check(db, "blanks", Contract("a blank", columns))

    with pytest.raises(ContractError) as raised:
        report.raise_if_broken()

    message = str(raised.value)
    assert message.startswith("contract broken: blanks: column c0 has 1 null; ")
    assert message.endswith("; and 4 more")
    assert "\n" not in message
    assert len(raised.value.report.failures) == 9


def test_a_report_survives_json_which_is_valid(db):
    fill(db, with_row("d4", None, 3, math.nan))
    report = check(db, "dialogues", DIALOGUES)

    text = report.to_json()

    assert Report.from_json(text) == report
    assert Report.from_json(text).to_json() == text
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


def test_great_expectations_gives_the_verdict_on_each_column(db):
    fill(db, with_row("d4", None, 3, 0.0))

    results = check(db, "dialogues", DIALOGUES).results

    verdicts = {result["expectation_config"]["kwargs"]["column"]: result["success"] for result in results}
    assert verdicts == {
        "table": True,
        "column dialogue_id": True,
        "column language": False,
        "column turns": True,
        "column score": True,
        "column messages": True,
    }


def test_checks_in_several_threads_do_not_mix(db):
    fill(db, GOOD)
    fill(db, [], table="empty")
    found: dict[int, bool] = {}

    def work(number: int) -> None:
        with db.cursor() as own:
            found[number] = check(own, "empty" if number % 2 else "dialogues", DIALOGUES).passed

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {number: number % 2 == 0 for number in range(6)}
