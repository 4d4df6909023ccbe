"""A model that is asked in batch jobs of the server in a process of its own, and what both say of it."""

from collections import Counter
from dataclasses import replace

import pytest

from llm.batch_rows import BatchRows
from llm.catalogue import Entry
from llm.gateway import Model
from llm.jobs import Jobs
from llm.pace import Patience
from llm.questions import Question
from llm.served import Served

WORKED = ("attempts", "prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")


@pytest.fixture
def model(loopback, ledger, price):
    """Give a model that is asked in batches, or with `jobs=None` live; a million tokens cost $1 in and $2 out."""

    def make(jobs=..., most=None, ledger=ledger, url=loopback.url, max_tokens=500, factor=0.5, **more):
        cost = replace(price(1.0, 2.0), batch_factor=factor)
        entry = Entry("fable", url, "fable-2", price=cost, timeout_seconds=5)
        jobs = Jobs(0.005, **more) if jobs is ... else jobs
        served = Served(entry, None, max_tokens=max_tokens, jobs=jobs, patience=Patience(8, 0.001, 0.01))
        return Model(served, ledger, most_nano_usd=most)

    return make


@pytest.fixture
def ask(model, prompt, requests, count):
    """Ask for so many answers, as `model` says, and give status and number of each."""

    def do(total, prompt=prompt, **more):
        outcomes = model(**more).ask(prompt, requests(total), count)
        assert len(outcomes) == total
        return [(one.status, one.answer and one.answer.number) for one in outcomes]

    return do


@pytest.fixture
def tries(loopback):
    """Give how often the server was called so."""
    return lambda name: sum(loopback.totals()["api"].get(name, {}).values())


@pytest.fixture
def is_settled(loopback, ledger, rows_of):
    """Check that the ledger says what the server says: attempts, tokens, money; and that nothing is under way."""

    def check(unseen=0):
        totals = loopback.totals()
        charged = totals["charged"]
        rows = [row for row in rows_of(ledger) if row["prompt_tokens"] is not None]
        sums = [len(rows), *(sum(row[name] for row in rows) for name in WORKED[1:])]
        assert dict(zip(WORKED, sums, strict=True)) == charged
        assert totals["charged_unseen"]["attempts"] == unseen
        assert totals["answered_again"] == 0
        nano_usd = (charged["prompt_tokens"] * 1000 + charged["completion_tokens"] * 2000) // 2
        assert abs(ledger.spending().nano_usd - nano_usd) <= len(rows), "each is rounded up"
        assert "pending" not in {row["status"] for row in rows_of(ledger)}
        assert BatchRows(ledger).running("fable") == []
        assert BatchRows(ledger).under_way() == 0

    return check


@pytest.fixture
def statuses(rows_of):
    """Give how many rows of a ledger there are of each status."""
    return lambda ledger: Counter(status for (status,) in rows_of(ledger, "status"))


@pytest.fixture
def ceiling(model, prompt, requests, count):
    """Give what one call of these tests may cost at the most, in billionths of a dollar."""
    return model().provider.most_nano_usd(Question(prompt, requests(1)[0], count))
