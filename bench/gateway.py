"""Measures the gateway: throughput beside a bare client, replay of known answers, memory over the number of calls."""

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from openai import AsyncOpenAI
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "loopback"))

from loopback_process import Loopback  # noqa: E402 # the path is set just before

from llm.catalogue import Entry  # noqa: E402
from llm.completions import body_of  # noqa: E402
from llm.gateway import Model, Prompt, Question, Request  # noqa: E402
from llm.keys import keys_of  # noqa: E402
from llm.ledger import Ending, Intent, Ledger  # noqa: E402
from llm.served import Served  # noqa: E402

CONCURRENCIES = (16, 32, 64, 256)
CALLS_A_PLACE = 25
REPEATS = 3
LATENCY_MS = 100
KNOWN = 100_000
INPUT_CHARACTERS = 2000
PROMPT = Prompt("bench", "Say the number. " * 60)


class Count(BaseModel):
    """The form of the answers."""

    number: int


def request(number: int) -> Request:
    """Return a request with an input of 2 KB."""
    return Request(str(number), {"number": number, "text": "x" * INPUT_CHARACTERS})


def bare(entry: Entry, total: int) -> float:
    """Ask by a loop of workers over the client alone, and return calls a second."""

    async def run() -> float:
        numbers = iter(range(total))

        async def work(client: AsyncOpenAI) -> None:
            for number in numbers:
                body = body_of(entry, Question(PROMPT, request(number), Count), {}, 8192)
                completion = await client.chat.completions.create(**body)
                Count.model_validate_json(completion.choices[0].message.content or "")

        async with AsyncOpenAI(base_url=entry.url, api_key="none", max_retries=0) as client:
            started = time.monotonic()
            async with asyncio.TaskGroup() as group:
                for _ in range(entry.concurrency):
                    group.create_task(work(client))
            return total / (time.monotonic() - started)

    return asyncio.run(run())


def metered(entry: Entry, total: int, folder: Path) -> float:
    """Ask through the gateway with a ledger on disk, and return calls a second."""
    model = Model(Served(entry, None), Ledger(folder / "ledger.sqlite"))
    started = time.monotonic()
    answered = sum(outcome.status == "ok" for _, outcome in model.each(PROMPT, range(total), request, Count, total))
    seconds = time.monotonic() - started
    if answered != total:
        raise SystemExit(f"only {answered} of {total} were answered")
    return total / seconds


def replayed(total: int, folder: Path) -> tuple[float, int]:
    """Answer from the ledger alone; return answers a second, and by how many KiB memory grew meanwhile."""
    ledger = Ledger(folder / "ledger.sqlite")
    provider = Served(Entry("bench", "http://127.0.0.1:1/v1", "bench"), None)
    key_of = keys_of(provider, PROMPT, Count)
    with ledger.transaction():
        for number in range(total):
            call = ledger.begin(Intent(key_of(request(number)), "bench", "bench", str(number)))
            if call is not None:
                ledger.end(call, Ending("ok", answer=json.dumps({"number": number})))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    right = 0
    for number, outcome in Model(provider, ledger).each(PROMPT, range(total), request, Count, total):
        right += outcome.answer is not None and outcome.answer.number == number
    seconds = time.monotonic() - started
    if right != total:
        raise SystemExit(f"only {right} of {total} were replayed")
    return total / seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def main() -> None:
    """Print the figures."""
    grid = Table("concurrency", "bare client, calls/s", "gateway, calls/s", "ratio (median)", box=None)
    with tempfile.TemporaryDirectory() as folder, Loopback() as server:
        server.plan(latency_ms=LATENCY_MS)
        for concurrency in CONCURRENCIES:
            entry = Entry("bench", server.url, "bench", concurrency=concurrency)
            total = concurrency * CALLS_A_PLACE
            pairs = []
            for repeat in range(REPEATS):  # in turns, so that a busy moment strikes both
                place = Path(folder) / f"{concurrency}-{repeat}"
                place.mkdir()
                pairs.append((bare(entry, total), metered(entry, total, place)))
            ratio = sorted(ours / theirs for theirs, ours in pairs)[REPEATS // 2]
            theirs, ours = (sorted(column)[REPEATS // 2] for column in zip(*pairs, strict=True))
            grid.add_row(str(concurrency), f"{theirs:.0f}", f"{ours:.0f}", f"{ratio:.2f}")
        Console().print(f"A server on loopback that answers after {LATENCY_MS} ms; median of {REPEATS}:", grid)
        for total in (KNOWN // 10, KNOWN):
            place = Path(folder) / f"known-{total}"
            place.mkdir()
            speed, grown = replayed(total, place)
            Console().print(f"{total:,} known answers, inputs of 2 KB: {speed:,.0f}/s, memory grew by {grown:,} KiB")


if __name__ == "__main__":
    main()
