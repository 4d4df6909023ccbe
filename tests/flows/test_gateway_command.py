import asyncio
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from loopback_process import Loopback
from openai import AsyncOpenAI, OpenAI

from flows.serve import is_loopback

pytestmark = pytest.mark.slow
KEY = "sk-upstream-0123456789"
CATALOGUE = """
[chatty]
url = "{url}"
served_as = "served-chat"
key_variable = "UPSTREAM_KEY"
output_tokens = 1000
timeout_seconds = 2

[chatty.price]
input = 1.0
output = 2.0
source = "a page"
date = 2026-11-01
"""
# What a build does with the same model, ledger and budget, as long as there is money.
BUILDING = """
import sys
from pathlib import Path
from pydantic import BaseModel
from llm.catalogue import entry_of
from llm.errors import BudgetError
from llm.gateway import Model, Prompt, Request
from llm.ledger import Ledger
from llm.served import Served

class Number(BaseModel):
    number: int

ledger, catalogue, most = sys.argv[1:]
served = Served(entry_of("chatty", Path(catalogue)), "sk-upstream-0123456789", max_tokens=50)
model = Model(served, Ledger(ledger), most_nano_usd=int(most))
try:
    model.ask(Prompt("a_stage", "Say it."), [Request("s", {"number": number}) for number in range(5000, 5400)], Number)
except BudgetError:
    print("the money is out")
"""


@pytest.fixture(scope="module")
def started_upstream():
    with Loopback(KEY) as server:
        yield server


@pytest.fixture
def upstream(started_upstream):
    started_upstream.plan()
    started_upstream.reset()
    return started_upstream


SAID: dict[str, Any] = {"model": "chatty", "max_tokens": 50}


def asking(number) -> Any:
    return {"role": "user", "content": f'{{"number": {number}}}'}


class Started:
    """A gateway that is up: what it printed, and what that says about address and token."""

    def __init__(self, child):
        self.child = child
        self.printed = []
        while line := child.stdout.readline():
            self.printed.append(line.rstrip("\n"))
            if line.startswith("export OPENAI_API_KEY="):
                break
        exports = dict(line.removeprefix("export ").split("=", 1) for line in self.printed if line.startswith("export"))
        self.url = exports["OPENAI_BASE_URL"]
        self.token = exports["OPENAI_API_KEY"]
        if self.token.startswith("$(cat "):
            [_, path] = shlex.split(self.token[2:-1])
            self.token = Path(path).read_text(encoding="utf-8")
        self.client = OpenAI(base_url=self.url, api_key=self.token, max_retries=0)

    def say(self, number, **more):
        return self.client.chat.completions.create(messages=[asking(number)], **SAID, **more)

    def end(self, number=signal.SIGINT):
        """Send a signal and wait; gives the exit code, and what was printed from then on."""
        self.client.close()
        self.child.send_signal(number)
        output, errors = self.child.communicate(timeout=60)
        return self.child.returncode, output.strip(), errors


@pytest.fixture
def catalogue(tmp_path, upstream):
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.format(url=upstream.url), encoding="utf-8")
    return path


@pytest.fixture
def gateway(alpsbench, catalogue, tmp_path):
    """Start `alpsbench gateway` in the home "a home": `gateway("--max-usd", 1)`."""

    def start(*words, **settings):
        given = {"ALPSBENCH_CATALOGUE": catalogue, "UPSTREAM_KEY": KEY, **settings}
        return Started(alpsbench.start("gateway", "--home", tmp_path / "a home", *words, **given))

    return start


@pytest.fixture
def ask_ledger(tmp_path):
    """Ask the ledger of the home by SQL."""

    def ask(sql):
        db = sqlite3.connect(tmp_path / "a home" / ".build" / "ledger.sqlite", timeout=60)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    return ask


def test_what_is_printed_is_all_that_a_client_needs(gateway, upstream, tmp_path):
    started = gateway("--max-usd", 1)
    assert started.say(3).choices[0].message.content == '{"number":3}'
    assert started.say(3).choices[0].message.content == '{"number":3}'
    code, output, errors = started.end()
    assert (code, errors) == (0, "")
    cost = upstream.totals()["charged"]
    usd = (cost["prompt_tokens"] * 1.0 + cost["completion_tokens"] * 2.0) / 1_000_000
    expected = f"stopped: 1 calls made, 1 requests answered without one; the ledger's spending is ${usd:,.4f}"
    assert output == expected
    token = (tmp_path / "a home" / "gateway_token").read_text(encoding="utf-8")
    assert token not in "\n".join([*started.printed, output])
    assert KEY not in "\n".join([*started.printed, output])


def test_the_token_is_made_once_and_for_nobody_else_to_read(gateway, tmp_path):
    tokens = []
    for _ in range(2):
        started = gateway()
        tokens.append(started.token)
        started.end()
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) >= 32
    assert (tmp_path / "a home" / "gateway_token").stat().st_mode & 0o777 == 0o600


def test_a_token_that_is_given_is_the_one_and_is_not_printed(gateway, tmp_path):
    started = gateway(ALPSBENCH_GATEWAY_TOKEN="given-token")
    assert started.token == "$ALPSBENCH_GATEWAY_TOKEN"
    assert "given-token" not in "\n".join(started.printed)
    with pytest.raises(openai.AuthenticationError):
        started.say(1)
    started.client = started.client.with_options(api_key="given-token")
    assert started.say(1).choices[0].message.content == '{"number":1}'
    assert not (tmp_path / "a home" / "gateway_token").exists()


def test_a_second_gateway_of_the_home_knows_the_answers_of_the_first(gateway, upstream):
    first, second = gateway(), gateway()
    assert first.say(3) == second.say(3)
    assert upstream.totals()["attempts"] == 1


@pytest.mark.parametrize(
    ("words", "settings", "told"),
    [
        (["--host", "256.0.0.1"], {}, "cannot listen on 256.0.0.1"),
        (["--max-usd", "inf"], {}, "--max-usd wants an amount of US dollars"),
        ([], {"ALPSBENCH_GATEWAY_TOKEN": "two words"}, "ALPSBENCH_GATEWAY_TOKEN holds characters that no token has"),
        ([], {"ALPSBENCH_CATALOGUE": "nowhere.toml"}, "cannot read the catalogue nowhere.toml"),
    ],
)
def test_what_cannot_be_served_ends_in_one_line(alpsbench, tmp_path, words, settings, told):
    finished = alpsbench("gateway", "--home", tmp_path / "home", *words, **settings)
    assert finished.returncode == 2
    [line] = finished.stderr.splitlines()
    assert told in line
    assert "two words" not in line


def test_a_token_that_cannot_be_kept_ends_in_one_line(alpsbench, tmp_path):
    (tmp_path / "home" / "gateway_token").mkdir(parents=True)
    finished = alpsbench("gateway", "--home", tmp_path / "home")
    assert finished.returncode == 2
    [line] = finished.stderr.splitlines()
    assert "cannot keep the gateway's token" in line


def test_an_address_that_is_taken_ends_in_one_line(alpsbench, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = alpsbench("gateway", "--home", tmp_path / "home", "--port", port)
    assert finished.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in finished.stderr


def test_a_given_port_is_taken(gateway):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert gateway("--port", port).url == f"http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False)),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host, expected):
    assert is_loopback(host) is expected


def test_who_listens_to_others_is_warned(gateway):
    started = gateway("--host", "0.0.0.0")
    assert any("0.0.0.0 is no loopback address" in line for line in started.printed)


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_answers_come_in_and_a_second_one_ends_the_rest(gateway, upstream, ask_ledger, number):
    upstream.plan(latency_ms=1000, script={"13": "never"})
    started, ended = gateway(UPSTREAM_KEY=KEY), {}

    def ask(one):
        try:
            ended[one] = started.say(one).choices[0].message.content
        except openai.APIStatusError as error:
            ended[one] = error.status_code

    threads = [threading.Thread(target=ask, args=(one,)) for one in (1, 2, 3, 13)]
    for thread in threads:
        thread.start()
    wait_until(lambda: upstream.totals()["in_flight"] == 4)
    started.child.send_signal(number)
    wait_until(lambda: len(ended) == 3)
    started.child.send_signal(signal.SIGINT)
    for thread in threads:
        thread.join()
    assert ended == {1: '{"number":1}', 2: '{"number":2}', 3: '{"number":3}', 13: 503}
    output, errors = started.child.communicate(timeout=60)
    assert (started.child.returncode, errors) == (0, "")
    assert output.strip().startswith("stopped: 3 calls made")
    statuses = ask_ledger("select status, count(*), sum(held_nano_usd > 0) from calls group by status order by status")
    assert statuses == [("cancelled", 1, 1), ("ok", 3, 0)]


def test_stopped_among_many_calls_nothing_is_left_pending(gateway, upstream, ask_ledger):
    upstream.plan(latency_ms=100, script={"7": "never"})
    started = gateway("--max-usd", 1)

    async def ask():
        async with AsyncOpenAI(base_url=started.url, api_key=started.token, max_retries=0) as client:
            calls = [client.chat.completions.create(messages=[asking(number)], **SAID) for number in range(400)]
            asked = asyncio.gather(*calls, return_exceptions=True)
            while not upstream.totals()["charged"]["attempts"]:
                await asyncio.sleep(0.01)
            for _ in range(2):
                started.child.send_signal(signal.SIGINT)
                await asyncio.sleep(0.3)
            return await asked

    ended = asyncio.run(ask())
    output, errors = started.child.communicate(timeout=60)
    assert (started.child.returncode, errors) == (0, ""), output
    assert ask_ledger("select count(*) from calls where status = 'pending'") == [(0,)]
    answered = [one.choices[0].message.content for one in ended if not isinstance(one, Exception)]
    refused = [one for one in ended if isinstance(one, openai.InternalServerError | openai.APIConnectionError)]
    assert len(answered) + len(refused) == 400
    assert ask_ledger("select count(*) from calls where status = 'ok'")[0][0] >= len(answered) > 0


def test_the_cap_of_a_home_holds_for_two_clients_and_a_build_together(
    gateway, upstream, ask_ledger, catalogue, tmp_path
):
    upstream.plan(
        latency_ms=20, jitter_ms=20, fault_share=0.2, kinds=["429_ms", "500", "cut_body"], retry_after_seconds=0.05
    )
    most = 5_000_000
    started = gateway("--max-usd", most / 1_000_000_000)
    build = subprocess.Popen(
        [
            sys.executable,
            "-c",
            BUILDING,
            str(tmp_path / "a home" / ".build" / "ledger.sqlite"),
            str(catalogue),
            str(most),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )

    async def client(first):
        statuses = []
        async with AsyncOpenAI(base_url=started.url, api_key=started.token, max_retries=0) as client:
            left = iter(range(first, first + 400))

            async def work():
                for number in left:
                    try:
                        await client.chat.completions.create(messages=[asking(number)], **SAID)
                        statuses.append(200)
                    except openai.APIStatusError as error:
                        statuses.append(error.status_code)

            await asyncio.gather(*(work() for _ in range(64)))
        return statuses

    async def both():
        return [status for statuses in await asyncio.gather(client(0), client(1000)) for status in statuses]

    wait_until(lambda: ask_ledger("select 1 from calls where way = 'live' and status = 'ok' limit 1"))
    statuses = asyncio.run(both())
    assert build.communicate(timeout=120)[0] == "the money is out\n"
    assert started.end()[0] == 0

    def cost(tokens):
        return tokens["prompt_tokens"] * 1000 + tokens["completion_tokens"] * 2000

    totals = upstream.totals()
    [(spent, held)] = ask_ledger("select nano_usd, held_nano_usd from spending")
    assert cost(totals["charged"]) + cost(totals["charged_unseen"]) <= spent + held <= most
    assert cost(totals["charged"]) == spent
    assert spent > most / 10, "the cap is there to be used"
    assert set(statuses) == {200, 402}
    assert len(statuses) == 800
    ways = dict(ask_ledger("select way, count(*) from calls where status = 'ok' group by way"))
    assert ways["served"] == statuses.count(200)
    assert ways["live"] > 0


def test_money_that_is_out_is_told_and_what_is_known_still_comes(gateway, upstream):
    started = gateway()
    known = started.say(3)
    started.end()
    poor = gateway("--max-usd", 0)
    assert poor.say(3) == known
    with pytest.raises(openai.APIStatusError, match=r"the budget of \$0\.0000") as error:
        poor.say(4)
    assert (error.value.status_code, error.value.code) == (402, "budget_exhausted")
    assert upstream.totals()["attempts"] == 1


def test_a_model_without_a_price_is_not_asked_under_a_cap(gateway, catalogue):
    text = catalogue.read_text(encoding="utf-8")
    catalogue.write_text(text[: text.index("[chatty.price]")], encoding="utf-8")
    with pytest.raises(openai.BadRequestError, match="the catalogue has no price") as error:
        gateway("--max-usd", 1).say(1)
    assert error.value.code == "model_without_price"


def test_nothing_of_keys_and_messages_is_printed(alpsbench, gateway, upstream):
    upstream.plan(script={"1": "401", "2": "400"})
    started = gateway()
    for number in (1, 2):
        with pytest.raises(openai.APIStatusError):
            started.say(number, extra_body={"note": "a private matter"})
    _, output, errors = started.end()
    assert errors == ""
    for told in ("private", KEY, started.token):
        assert told not in "\n".join([*started.printed, output])
