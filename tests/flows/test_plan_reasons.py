import json

import pytest

from flows.modules import Piece
from flows.planning.reasons import RELEASE, reasons

OLD, NEW = "0" * 64, "1" * 64


def code(name, value=OLD, kind="code"):
    return Piece(kind, name, value)


def knob(name, value):
    return Piece("knob", name, json.dumps(value))


def table(name, value="a"):
    return Piece("table", name, value)


def source(*shards):
    return knob("source", [list(shard) for shard in shards])


def offline(rules=OLD):
    return [knob("extractor.offline", rules), knob("extractor.reading", OLD), knob("extractor.input_tokens", None)]


def served(name="fable", **sampling):
    values = {"model": name, "served_as": name, "reading": OLD, "input_tokens": 1000, **sampling}
    return [knob(f"extractor.{part}", value) for part, value in values.items()]


def recorded(digest=OLD, name="fable"):
    return [knob("extractor.recorded", digest), knob("extractor.model", name), knob("extractor.reading", OLD)]


def test_the_same_pieces_give_no_reason():
    pieces = [code("stages/a.py"), table("a"), knob("size", 1), *offline()]

    assert reasons(pieces, pieces) == []


CHANGES = {
    "a file of code": (
        [code("stages/a.py"), code("stages/b.py")],
        [code("stages/a.py"), code("stages/b.py", NEW)],
        ["its code changed: stages/b.py"],
    ),
    "the text of a prompt": (
        [code("stages/a.prompt.md")],
        [code("stages/a.prompt.md", NEW)],
        ["its code changed: stages/a.prompt.md"],
    ),
    "files that come and go": (
        [code("stages/a.py")],
        [code("stages/b.py")],
        ["its code changed: stages/b.py (new), stages/a.py (gone)"],
    ),
    "more files than are listed": (
        [],
        [code(f"stages/{name}.py") for name in "abcde"],
        ["its code changed: stages/a.py (new), stages/b.py (new), stages/c.py (new) and 2 more"],
    ),
    "a contract": (
        [code("expectations/a.py", OLD, "contract")],
        [code("expectations/a.py", NEW, "contract")],
        ["its contract changed: expectations/a.py"],
    ),
    "a library": (
        [Piece("library", "rensa", "rensa 0.5.0")],
        [Piece("library", "rensa", "rensa 0.6.1")],
        ["rensa 0.5.0 → 0.6.1"],
    ),
    "a library that was not used": ([], [Piece("library", "rensa", "rensa 0.6.1")], ["rensa none → 0.6.1"]),
    "a number": ([knob("minimum", 6)], [knob("minimum", 4)], ["minimum: 6 → 4"]),
    "a word": ([knob("unit", "dialogue")], [knob("unit", "user")], ["unit: dialogue → user"]),
    "a cap that is set": ([], [knob("caps.VRA", 100)], ["caps.VRA: unset → 100"]),
    "a cap that is taken away": ([knob("caps.VRA", 100)], [knob("caps.VRA", None)], ["caps.VRA: 100 → unset"]),
    "a list": ([knob("sizes", [5, 10])], [knob("sizes", [5, 20])], ["sizes: [5, 10] → [5, 20]"]),
    "a long value": ([knob("about", "x" * 99)], [knob("about", "y")], [f"about: {'x' * 40}… → y"]),
    "what stands for something longer": ([knob("secret", OLD)], [knob("secret", NEW)], ["secret changed"]),
    "shards of the source": (
        [source(("0.parquet", 9, OLD), ("1.parquet", 9, OLD), ("2.parquet", 9, OLD))],
        [source(("0.parquet", 9, OLD), ("1.parquet", 8, NEW), ("3.parquet", 9, OLD))],
        ["the source changed: new 3.parquet; changed 1.parquet; gone 2.parquet"],
    ),
    "rules and then a model": (offline(), served(), ["extractor: offline → fable"]),
    "a model and then a recording of it": (served(), recorded(), ["extractor: fable → recorded:fable"]),
    "another model": (served("fable"), served("story"), ["extractor: fable → story"]),
    "another recording": (recorded(), recorded(NEW), ["the recording of extractor changed"]),
    "other rules": (offline(), offline(NEW), ["the rules of the offline model changed"]),
    "how a model is asked": (
        served(),
        served(**{"sampling.temperature": 0.7}),
        ["extractor.temperature: unset → 0.7"],
    ),
    "how answers are read": (
        [knob("auditor.offline", OLD), knob("auditor.reading", OLD)],
        [knob("auditor.offline", OLD), knob("auditor.reading", NEW)],
        ["how answers are read changed: llm/answers.py"],
    ),
    "what releases are made of": ([knob("draft", OLD)], [knob("draft", NEW)], [RELEASE]),
    "another table to read": ([table("a")], [table("a"), table("b")], ["b changed since"]),
    "two things at once": (
        [code("stages/a.py"), knob("minimum", 6)],
        [code("stages/a.py", NEW), knob("minimum", 4)],
        ["its code changed: stages/a.py", "minimum: 6 → 4"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_reason_names_what_changed_from_what_to_what(change):
    was, now, told = CHANGES[change]

    assert reasons(was, now) == told


def test_a_table_that_is_rebuilt_is_told_from_one_that_changed_before():
    was = [table(name, "old") for name in ("a", "b", "c")]
    now = [table("a", "new"), table("b", "new"), table("c", "old")]

    assert reasons(was, now, {"a", "b"}) == ["reads a, b, which are rebuilt"]
    assert reasons(was, now, {"a"}) == ["reads a, which is rebuilt", "b changed since"]
    assert reasons(was, now) == ["a, b changed since"]


def test_that_a_release_is_made_of_other_tables_needs_no_more_words():
    was, now = [table("a", "old"), knob("draft", OLD)], [table("a", "new"), knob("draft", NEW)]

    assert reasons(was, now, {"a"}) == ["reads a, which is rebuilt"]
