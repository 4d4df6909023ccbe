import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from llm.ledger import Attempt, Ledger
from warehouse import DamagedError

WRITER = """
import sys
from llm.ledger import Attempt, Ledger
ledger = Ledger(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
for number in range(200):
    ledger.add(Attempt(f"{sys.argv[2]}{number}", "m", "p", sys.argv[2], "ok", "{}", 1, 2, 0.5))
"""


def attempt(key="k", status="ok", answer="{}", **more):
    told: dict[str, Any] = {
        "model": "fable",
        "prompt": "a_stage",
        "subject": "s",
        "prompt_tokens": 11,
        "completion_tokens": 7,
    }
    return Attempt(key=key, status=status, answer=answer, seconds=0.5, **(told | more))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_an_answer_is_known_by_its_key_alone(path):
    ledger = Ledger(path)
    ledger.add(attempt("one", answer='{"a": 1}'))
    ledger.add(attempt("other", answer='{"a": 2}'))
    assert (ledger.answer("one"), ledger.answer("other"), ledger.answer("third")) == ('{"a": 1}', '{"a": 2}', None)


def test_attempts_without_an_answer_are_kept_and_answer_nothing(path):
    ledger = Ledger(path)
    ledger.add(attempt(status="truncated", answer=None))
    assert ledger.answer("k") is None
    assert ledger.table()["status"].to_pylist() == ["truncated"]


def test_the_last_answer_of_a_key_counts():
    ledger = Ledger()
    for text in ("old", "new"):
        ledger.add(attempt(answer=text))
    ledger.add(attempt(status="empty", answer=None))
    assert ledger.answer("k") == "new"


def test_rows_outlive_a_process_that_is_killed(path):
    writer: Any
    with subprocess.Popen(
        [sys.executable, "-c", WRITER + "print('done', flush=True)\nsys.stdin.readline()", str(path), "w"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout.readline() == "open\n"
        writer.stdin.write("go\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "done\n"
        writer.kill()
    ledger = Ledger(path)
    assert ledger.answer("w199") == "{}"
    assert ledger.table().num_rows == 200


def test_two_processes_write_at_once_and_nothing_is_lost(path):
    command = [sys.executable, "-c", WRITER, str(path)]
    writers: list[Any] = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout.readline() == "open\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    subjects = Ledger(path).table()["subject"].to_pylist()
    assert (subjects.count("a"), subjects.count("b")) == (200, 200)


def test_the_published_table_holds_no_answer_and_no_key(path):
    ledger = Ledger(path)
    ledger.add(attempt("KEY", answer="SECRET ANSWER", subject="d1"))
    ledger.add(attempt("KEY", status="empty", answer=None, prompt_tokens=None, completion_tokens=None))
    table = ledger.table()
    first, second = table.to_pylist()
    assert "SECRET" not in str(first)
    assert "KEY" not in str(first)
    ended = datetime.fromisoformat(first.pop("ended_at"))
    assert timedelta(0) <= datetime.now(UTC) - ended < timedelta(minutes=5)
    assert first == {
        "call": 1,
        "model": "fable",
        "prompt": "a_stage",
        "subject": "d1",
        "status": "ok",
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "seconds": 0.5,
    }
    assert (second["call"], second["status"], second["prompt_tokens"]) == (2, "empty", None)


def test_an_empty_ledger_has_the_columns_of_a_full_one():
    empty, full = Ledger(), Ledger()
    full.add(attempt())
    assert empty.table().num_rows == 0
    assert empty.table().schema == full.table().schema
    assert empty.table().schema.field("call").type == pa.int64()


def test_a_ledger_without_a_path_is_nobody_elses():
    one, other = Ledger(), Ledger()
    one.add(attempt())
    assert other.answer("k") is None


def test_the_file_can_be_read_by_any_client_while_it_is_open(path):
    ledger = Ledger(path)
    ledger.add(attempt())
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
        assert reader.execute("select count(*) from calls").fetchall() == [(1,)]
        assert reader.execute("pragma journal_mode").fetchall() == [("wal",)]
    reader.close()


@pytest.mark.parametrize("content", [b"no database at all, " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_told_with_a_way_out(path, content):
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=rf"^the ledger {path} cannot be read \(.*\); move it away and build again"):
        Ledger(path)
    assert path.read_bytes() == content
