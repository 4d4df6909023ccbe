"""Batch jobs under a budget: never more calls than the money may suffice for."""

import pytest

from llm.errors import BudgetError
from llm.jobs import Jobs


def ok(*numbers):
    return [("ok", number) for number in numbers]


class Watching(Jobs):
    """Looks at the ledger whenever it waits."""

    def __init__(self, ledger, **more):
        super().__init__(0.005, **more)
        self.ledger = ledger
        self.seen = []

    async def wait(self):
        self.seen.append(self.ledger.spending())
        await super().wait()


def test_as_many_calls_are_handed_in_as_the_money_suffices_for(ask, loopback, ledger, tries, ceiling, is_settled):
    loopback.plan(batch_seconds=0.03)
    jobs = Watching(ledger)
    most = int(ceiling * 3.5)
    assert ask(10, jobs=jobs, most=most) == ok(*range(10))
    assert max(spent.most for spent in jobs.seen) <= most
    assert max(spent.held_nano_usd for spent in jobs.seen) > most / 2
    assert tries("POST /v1/batches") >= 4
    is_settled()


def test_without_money_for_one_call_nothing_is_sent(ask, loopback, ledger, tries, ceiling):
    with pytest.raises(BudgetError, match="does not suffice for another call"):
        ask(3, most=ceiling // 2)
    assert (tries("POST /v1/files"), ledger.spending().most) == (0, 0)


def test_when_the_money_is_out_the_answers_so_far_are_kept(ask, loopback, ledger, ceiling, is_settled):
    with pytest.raises(BudgetError):
        ask(50, most=int(ceiling * 1.1))
    answered = ledger.rows().read_all().num_rows
    assert 0 < answered < 50
    assert ledger.spending().most <= int(ceiling * 1.1)
    is_settled()
    assert ask(50) == ok(*range(50))
    assert loopback.totals()["attempts"] == 50
