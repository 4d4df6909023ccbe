"""A build over a server that fails in many ways and repeats all it is told: where does any of it turn up?"""

import json
import sqlite3
import threading
from collections import Counter, defaultdict
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import pytest

from llm.offline import RULES

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
SAID = "QUIXOTICZEBRA"
"""Stands in every message of every dialogue."""
WRONG = "MARMALADEOTTER"
"""Stands in every answer of the model that is none."""
TOLD = "PERPLEXEDHERON"
"""Stands in every error of the server, with the key and the dialogue behind it."""
SAMPLE = Path(__file__).parents[2] / "stages" / "sample"
RULE_OF = {
    "MemoryItems": "candidate_memories",
    "Verdicts": "memories",
    "Segments": "update_items",
    "QueryDraft": "query_drafts",
    "Audit": "leak_checks",
}
HOLDS_TEXT = {
    ".build/warehouse.duckdb*": "the dialogues and the memories found in them are its tables",
    "alpsbench.duckdb": "a copy of it; its calls and drops are looked at below",
    ".build/ledger.sqlite*": "answers that were paid for, which quote the dialogues",
    ".build/json_lines/*": "the source, line by line",
    "releases/*/public/*/*.jsonl": "the benchmark is made of dialogues",
    "releases/*/sealed/*.jsonl": "and so are its right answers",
}
"""What may hold text of dialogues, and why. Nothing at all may hold the rest."""
FAULTS = ["500", "429", "cut", "400", "prose", "wrong form", "length", "refusal", "filter", "page", "unparsable"]
FOR_EVER = ("400", "wrong form", "length", "refusal", "filter")
"""Of each of these some dialogues of the first stage are lost; all others pass when they are asked for again."""


class Server(ThreadingHTTPServer):
    """Knows the rules by heart, and fails in a way that the input decides."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.key = KEY
        self.inputs = defaultdict(dict)
        self.faults = Counter()
        self.lock = threading.Lock()

    def fault(self, form, said):
        """Say what is wrong with this answer, if anything is: with each second of the first inputs of a form."""
        with self.lock:
            is_first = said not in self.inputs[form]
            place = self.inputs[form].setdefault(said, len(self.inputs[form]))
            kind = FAULTS[place // 2] if place % 2 == 0 and place // 2 < len(FAULTS) else None
            if kind in FOR_EVER and form != "MemoryItems":
                return None
            if kind is None or not (is_first or kind in FOR_EVER):
                return None
            self.faults[kind] += 1
        return kind


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said, form = body["messages"][1]["content"], body["response_format"]["json_schema"]["name"]
        error = json.dumps({"error": {"message": f"{TOLD} {self.headers['Authorization']} {said}", "code": TOLD}})
        wrong = f"{WRONG} {self.headers['Authorization']} {said}"
        if self.headers["Authorization"] != f"Bearer {self.server.key}":
            return self.send(401, error)
        match self.server.fault(form, said):
            case "500" | "400" as status:
                return self.send(int(status), error)
            case "429":
                return self.send(429, error, {"retry-after-ms": "5"})
            case "cut":
                return self.send(200, wrong, {"Content-Length": str(10**6)})
            case "page":
                return self.send(200, f"<html>{wrong}</html>", {"Content-Type": "text/html"})
            case "unparsable":
                return self.send(200, f'{{"choices": [{{"{wrong}')
            case "prose":
                return self.say(wrong)
            case "wrong form":
                return self.say(json.dumps({"memory_items": [{"type": WRONG, WRONG: said}], WRONG: said}))
            case "length":
                return self.say(wrong, "length")
            case "filter":
                return self.say(wrong, "content_filter")
            case "refusal":
                return self.say(None, refusal=wrong)
        return self.say(json.dumps(RULES[RULE_OF[form]](json.loads(said))))

    def say(self, content, finish_reason="stop", **more):
        message = {"role": "assistant", "content": content, **more}
        choice = {"index": 0, "finish_reason": finish_reason, "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self.send(200, json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}))

    def send(self, status, text, headers=()):
        self.send_response(status)
        sent = text.encode()
        defaults = {"Content-Type": "application/json", "Content-Length": str(len(sent)), "Connection": "close"}
        for name, value in {**defaults, **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        return


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, server):
    """A source whose every message says it, and a catalogue that names the server."""
    folder = tmp_path_factory.mktemp("secrets")
    sample = (SAMPLE / "conversations.jsonl").read_text(encoding="utf-8")
    (folder / "source.jsonl").write_text(sample.replace('"content":"', f'"content":"{SAID} '), encoding="utf-8")
    (folder / "catalogue.toml").write_text(
        f'[by-heart]\nurl = "http://127.0.0.1:{server.server_port}/v1"\nserved_as = "m"\nkey_variable = "PLANTED_KEY"\n'
    )
    return folder


@pytest.fixture(scope="module")
def build(command_of, folder):
    """Build into a home below the folder with this key, and give the home and how the command ended."""

    def do(name, key):
        words = ["--source", folder / "source.jsonl", "--recipe", SAMPLE / "recipe.toml", "--home", folder / name]
        for role in ("extractor", "validator", "generator", "auditor"):
            words += ["--set", f"models.{role}.name=by-heart"]
        # What is logged at this level after the server has ended is sent again and again: with two retries, not long.
        levels = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_CLIENT_MAX_RETRIES": "2"}
        catalogue = folder / "catalogue.toml"
        return folder / name, command_of(folder)(
            "build", *words, ALPSBENCH_CATALOGUE=catalogue, PLANTED_KEY=key, **levels
        )

    return do


@pytest.fixture(scope="module")
def built(build):
    home, ended = build("home", KEY)
    assert ended.returncode == 0, "some calls failed, and the build went on"
    return home, ended


def needles_in(data, *needles):
    return [needle for needle in needles if needle.encode() in data]


def files_of(home):
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def cells_of(path):
    """Give all that stands in a database as text, table by table: its file may be compressed."""
    with duckdb.connect(str(path), read_only=True) as db:
        names = [name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall()]
        return {name: str(db.execute(f'from "{name}"').fetchall()).encode() for name in names}


def test_every_fault_came_and_calls_were_lost_by_it(built, server):
    home, _ = built
    assert set(server.faults) == set(FAULTS)
    with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
        reasons = db.execute("select distinct reason from dropped where stage = 'candidate_memories'").fetchall()
        statuses = {status for (status,) in db.execute("select distinct status from calls").fetchall()}
    assert {("http_error",), ("schema_error",), ("refused",), ("filtered",)} <= set(reasons)
    assert {"ok", "server_error", "rate_limited", "unreachable", "empty", "truncated"} <= statuses


def test_the_terminal_shows_no_key_and_no_word_of_anybody(built):
    _, ended = built
    assert needles_in((ended.stdout + ended.stderr).encode(), KEY, SAID, WRONG, TOLD) == []


def test_the_key_bad_answers_and_errors_of_the_server_stand_in_no_file(built):
    home, _ = built
    files = files_of(home)
    assert ".build/ledger.sqlite" in files
    assert {name: found for name, data in files.items() if (found := needles_in(data, KEY, WRONG, TOLD))} == {}
    for database in ("alpsbench.duckdb", ".build/warehouse.duckdb"):
        cells = cells_of(home / database)
        assert {name: found for name, data in cells.items() if (found := needles_in(data, KEY, WRONG, TOLD))} == {}


def test_dialogues_stand_only_in_files_that_are_there_to_hold_them(built):
    home, _ = built
    holding = {name for name, data in files_of(home).items() if needles_in(data, SAID)}
    others = {name for name in holding if not any(fnmatch(name, pattern) for pattern in HOLDS_TEXT)}
    assert others == set()
    assert any(name.startswith("releases/") for name in holding), "else it would not have been found elsewhere either"


def test_calls_and_drops_hold_ids_and_statuses_alone(built):
    cells = cells_of(built[0] / "alpsbench.duckdb")
    assert needles_in(cells["dialogues"], SAID) or needles_in(cells["memories"], SAID)
    for name in ("calls", "dropped", "builds"):
        assert len(cells[name]) > 100
        assert needles_in(cells[name], SAID, KEY) == [], name


def test_the_logs_of_the_orchestrator_are_at_their_loudest_and_hold_nothing(built):
    [path] = built[0].rglob("prefect.db")
    with sqlite3.connect(path) as db:
        messages = [message for (message,) in db.execute("select message from log").fetchall()]
        levels = {level for (level,) in db.execute("select distinct level from log").fetchall()}
    db.close()
    assert (len(messages) > 20, min(levels)) == (True, 10)
    assert needles_in("\n".join(messages).encode(), KEY, SAID, WRONG, TOLD) == []


def test_a_key_that_is_refused_is_told_and_not_shown(build):
    home, ended = build("refused", f"{KEY}-of-another")
    assert ended.returncode == 6
    assert "the key is not accepted (401)" in ended.stderr
    assert needles_in((ended.stdout + ended.stderr).encode(), KEY, SAID, TOLD) == []
    assert {name: found for name, data in files_of(home).items() if (found := needles_in(data, KEY, TOLD))} == {}
