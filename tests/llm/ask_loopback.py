"""Asks the loopback server as a stage would, in a process of its own that can be stopped or killed."""

import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from llm.catalogue import Entry, Price
from llm.errors import ModelError
from llm.gateway import Model, Prompt, Request
from llm.ledger import Ledger
from llm.pace import Pace, Patience
from llm.served import Served

PROMPT = Prompt("a_stage", "Say how many.")


class Count(BaseModel):
    """The form of the answers."""

    number: int


def model_of(told: dict[str, Any]) -> Model:
    """Make the model that is asked: `url` and `ledger` must be told."""
    price = None
    if "price" in told:
        input, output = told["price"]
        price = Price(input=input, output=output, source="a page", date=date(2026, 11, 1))
    entry = Entry("loopback", told["url"], "loopback", price=price, timeout_seconds=told.get("timeout_seconds", 30))
    served = Served(
        entry,
        None,
        max_tokens=told.get("max_tokens", 500),
        pace=Pace(told.get("concurrency", 32), cut_seconds=0.05),
        patience=Patience(8, 0.005, 0.1),
    )
    return Model(served, Ledger(told["ledger"]), most_nano_usd=told.get("most_nano_usd"))


def requests_of(told: dict[str, Any]) -> list[Request]:
    """Make the requests from number `first` on, `total` of them."""
    first = told.get("first", 0)
    return [Request(f"s{number}", {"number": number}) for number in range(first, first + told["total"])]


def ask(told: dict[str, Any]) -> dict[str, Any]:
    """Ask them all, and tell how each ended, or what stopped the run."""
    model = model_of(told)
    try:
        outcomes = model.ask(PROMPT, requests_of(told), Count)
    except ModelError as error:
        return {"error": [type(error).__name__, str(error)], "calls": model.calls}
    ended = [[one.status, one.answer.number if one.answer else None, one.detail] for one in outcomes]
    return {"outcomes": ended, "calls": model.calls}


def ask_in_children() -> None:
    """Ask in one forked child after another, told line by line: tell the number of each, and that it is gone.

    A child begins at once, since all is loaded; it writes what it has to tell into the file `output`.
    """
    for line in sys.stdin:
        told = json.loads(line)
        if not (child := os.fork()):
            Path(told["output"]).write_text(json.dumps(ask(told)), encoding="utf-8")
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    if not sys.argv[1:]:
        ask_in_children()
        sys.exit()
    try:
        print(json.dumps(ask(json.loads(sys.argv[1]))), flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
