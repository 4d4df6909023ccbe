"""A run in batch jobs that ends at any moment, and the next one."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

from llm.batch_jobs import take_in
from llm.batch_rows import BatchRows
from llm.errors import BudgetError, ModelError
from llm.gateway import Prompt, Request
from llm.jobs import Jobs
from llm.ledger import Ledger
from llm.meter import Meter
from warehouse.errors import DamagedError


def ok(*numbers):
    return [("ok", number) for number in numbers]


# A run that ends at any moment, and the next


class Died(BaseException):
    """Stands for the end of the process: nothing that comes after it is done."""


class Dying(Jobs):
    """Dies at a moment of the second job, or of the one that is said to be the last."""

    def __init__(self, moment, last=2):
        super().__init__(0.005, calls=6)
        self.moment = moment
        self.last = last
        self.handed_in = self.looks = 0

    async def hand_in(self, wire, mark, lines):
        self.handed_in += 1
        if self.handed_in == self.last and self.moment == "before the file is sent":
            raise Died
        if self.handed_in == self.last and self.moment == "before the job is made":
            await wire.client.files.create(file=(f"{mark}.jsonl", lines), purpose="batch")
            raise Died
        job = await super().hand_in(wire, mark, lines)
        if self.handed_in == self.last and self.moment == "before its id is noted":
            raise Died
        return job

    async def look(self, wire, mark, job):
        self.looks += 1
        if self.looks == 2 * self.last - 1 and self.moment == "while they go on":
            raise Died
        return await super().look(wire, mark, job)

    async def read(self, wire, job, read):
        found = await super().read(wire, job, read)
        if self.moment == "before the answers are settled":
            raise Died
        return found


MOMENTS = [
    *("before the file is sent", "before the job is made", "before its id is noted"),
    *("while they go on", "before the answers are settled", "while they are settled"),
]


def dies_while_settling(ledger, at):
    """Let the ledger fail at the end of its n-th call, in the middle of whatever else it writes at once."""
    left = iter(range(at))

    def die():
        if next(left, None) is None:
            raise Died

    ledger.db.create_function("die", 0, die)
    ledger.db.execute("create temp trigger dying after update of status on main.calls begin select die(); end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_dies_at_any_moment_loses_nothing_and_nothing_is_paid_twice(
    ask, loopback, ledger, statuses, is_settled, moment
):
    loopback.plan(batch_seconds=0.05)
    dying = Ledger(ledger.path)
    if moment == "while they are settled":
        dies_while_settling(dying, at=9)
    with pytest.raises((Died, DamagedError)):
        ask(15, jobs=Dying(moment), ledger=dying, most=10**12)
    assert ask(15, calls=6) == ok(*range(15))
    assert loopback.totals()["attempts"] == 15
    given_up = 6 if moment in MOMENTS[:2] else 0
    assert statuses(ledger) == {"ok": 15, **({"cancelled": given_up} if given_up else {})}
    assert ledger.spending().held_nano_usd == 0
    is_settled()


def test_a_run_that_dies_again_and_again_ends_with_the_same_answers(ask, loopback, is_settled):
    kinds = ["prose", "content_empty", "length_cured", "429", "500"]
    loopback.plan(seed=5, fault_share=0.3, kinds=kinds, batch_seconds=0.02)
    deaths = 0
    for moment in MOMENTS[:-1] * 2:
        try:
            ask(40, jobs=Dying(moment))
        except Died:
            deaths += 1
    assert deaths >= 5
    assert ask(40, calls=6) == ok(*range(40))
    is_settled()


# Jobs whose calls nobody asks for any more


@pytest.fixture
def leave(ask):
    """Leave a job of six calls behind, and a run that died."""

    def do(moment="while they go on", **more):
        with pytest.raises(Died):
            ask(6, jobs=Dying(moment, last=1), **more)

    return do


class Far(BaseModel):
    """A form that the answers to the others are not of."""

    number: int = Field(ge=100)


@pytest.fixture
def ask_others(model, prompt):
    """Ask for the numbers from 100 on under a prompt that was changed, so many of them."""

    def do(total, **more):
        asked = [Request(f"t{number}", {"number": number}) for number in range(100, 100 + total)]
        outcomes = model(**more).ask(Prompt(prompt.name, "Say it anew."), asked, Far)
        return [(one.status, one.answer and one.answer.number) for one in outcomes]

    return do


def test_jobs_whose_calls_are_not_asked_for_any_more_are_settled_and_their_answers_kept(
    loopback, leave, ask, ask_others, is_settled
):
    loopback.plan(script={"1": ["prose"], "2": ["content_blank"]})
    leave()
    assert ask_others(3) == ok(100, 101, 102)
    is_settled()
    assert loopback.totals()["attempts"] == 6 + 3
    assert ask(6) == ok(*range(6))
    assert loopback.totals()["attempts"] == 6 + 3 + 2, "but for the bad ones"


@pytest.mark.parametrize("outcome", ["failed", "expired"])
def test_how_such_a_job_ends_is_nobodys_trouble(loopback, leave, ask_others, is_settled, outcome):
    loopback.plan(batch_outcomes=[outcome])
    leave()
    assert ask_others(1) == ok(100)
    is_settled()


def test_such_a_job_is_not_waited_for(loopback, leave, ask_others, ledger, rows_of):
    loopback.plan(batch_seconds=600)
    leave()
    loopback.plan()
    # The first job keeps its time.
    assert ask_others(3) == ok(100, 101, 102)
    assert [status for (status,) in rows_of(ledger, "status")] == ["pending"] * 6 + ["ok"] * 3
    assert BatchRows(ledger).under_way() == 1


def test_such_a_job_is_waited_for_where_it_holds_the_money(loopback, leave, ask_others, ceiling, is_settled):
    loopback.plan(batch_seconds=0.2)
    leave()
    assert ask_others(3, most=int(ceiling * 6.9)) == ok(100, 101, 102)
    is_settled()


def test_such_a_job_does_not_help_where_the_money_is_out(loopback, leave, ask_others, ceiling, is_settled):
    leave()
    with pytest.raises(BudgetError):
        ask_others(3, most=ceiling // 2)
    is_settled()


def test_a_job_that_its_server_forgot_is_asked_anew_and_its_money_stays_held(
    loopback, leave, ask, ledger, statuses, ceiling
):
    leave()
    loopback.reset()
    assert ask(6) == ok(*range(6))
    assert statuses(ledger) == {"unreachable": 6, "ok": 6}
    assert ledger.spending().held_nano_usd > 5 * ceiling


# Live, while jobs are under way


@pytest.fixture
def taken_in(model, ledger):
    """Take in what jobs have come to, as a live run would, and give the keys of the calls that go on."""

    def do():
        provider = model(jobs=None).provider

        async def steps():
            meter: Meter[Any] = Meter(ledger, provider.terms)
            try:
                return await take_in(provider, meter, Jobs(0.005))
            finally:
                await meter.close()
                await provider.close()

        return asyncio.run(steps())

    return do


def test_a_live_run_uses_what_jobs_have_answered_meanwhile(loopback, leave, ask):
    leave()
    assert ask(8, jobs=None, factor=0.5) == ok(*range(8))
    assert loopback.totals()["attempts"] == 8
    assert loopback.totals()["charged"]["attempts"] == 8


def test_a_live_run_does_not_ask_for_what_is_still_under_way(loopback, leave, ask):
    loopback.plan(batch_seconds=600)
    leave()
    with pytest.raises(ModelError, match="^fable: batch jobs of an earlier run have some of the calls under way; "):
        ask(8, jobs=None)
    assert loopback.totals()["charged"]["attempts"] <= 2


def test_a_live_run_is_told_which_calls_are_still_under_way(loopback, leave, taken_in, ledger):
    loopback.plan(batch_seconds=600)
    leave()
    [running] = BatchRows(ledger).running("fable")
    assert taken_in() == BatchRows(ledger).keys(running.batch)
    assert len(taken_in()) == 6


def test_what_was_never_handed_in_holds_no_money_in_a_live_run(leave, taken_in, ledger, statuses):
    leave("before the job is made", most=10**12)
    assert ledger.spending().held_nano_usd > 0
    assert taken_in() == set()
    assert statuses(ledger) == {"cancelled": 6}
    assert ledger.spending().most == 0
