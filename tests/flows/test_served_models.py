"""The whole DAG with every role played over HTTP: a server on loopback that knows the rules by heart."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llm.offline import RULES
from warehouse import Home, connect

pytestmark = pytest.mark.slow
RULE_OF = {
    "MemoryItems": "candidate_memories",
    "Verdicts": "memories",
    "Segments": "update_items",
    "QueryDraft": "query_drafts",
    "Audit": "leak_checks",
}
ROLES = ("extractor", "validator", "generator", "auditor")
MADE = "select memory_id, value, evidence_message, context from memories order by memory_id"


def ask(home, sql):
    with connect(Home(home).published, read_only=True) as db:
        return db.execute(sql).fetchall()


class Server(ThreadingHTTPServer):
    """Answers chat completions by the rules, in a fence and with some prose around, as models do."""

    daemon_threads = True
    request_queue_size = 128  # as many may knock at once as the build has calls under way

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls = 0
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.calls += 1
        schema = body["response_format"]["json_schema"]
        answer = RULES[RULE_OF[schema["name"]]](json.loads(body["messages"][1]["content"]))
        text = f"Here it is:\n```json\n{json.dumps(answer)}\n```"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        completion = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"], "usage": usage}
        sent = json.dumps(completion | {"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        return


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_served_model_gives_the_same_memories_and_is_never_asked_twice(alpsbench, sample_home, server, tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    address = f"http://127.0.0.1:{server.server_port}/v1"
    catalogue.write_text(f'[by-heart]\nurl = "{address}"\nserved_as = "rules"\n', encoding="utf-8")
    roles = [word for role in ROLES for word in ("--set", f"models.{role}.name=by-heart")]
    command = ["build", "--home", tmp_path / "home", *roles]

    alpsbench.succeed(*command, ALPSBENCH_CATALOGUE=catalogue)

    made, calls = ask(tmp_path / "home", MADE), server.calls
    assert made == ask(sample_home, MADE)
    assert ask(tmp_path / "home", "select distinct extractor, validator from memories") == [("by-heart", "by-heart")]
    assert ask(tmp_path / "home", "select count(*), sum(prompt_tokens) from calls") == [(calls, 10 * calls)]

    for path in (tmp_path / "home" / ".build").glob("warehouse.duckdb*"):
        path.unlink()
    alpsbench.succeed(*command, ALPSBENCH_CATALOGUE=catalogue)

    assert server.calls == calls
    assert ask(tmp_path / "home", MADE) == made
