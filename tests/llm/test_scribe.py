import asyncio
import sqlite3
import threading

import pytest

from llm.ledger import Ending, Intent
from llm.scribe import Scribe

INTENT = Intent("k", "fable", "a_stage", "s")


@pytest.fixture
def scribing(ledger):
    """Run a task that is given a scribe, and close that."""

    def do(task):
        async def run():
            scribe = Scribe(ledger)
            try:
                return await task(scribe)
            finally:
                await scribe.close()

        return asyncio.run(run())

    return do


def test_what_a_step_returns_comes_back_to_the_one_who_wrote_it(scribing):
    async def task(scribe):
        return await asyncio.gather(*(scribe.write(lambda number=number: number * 2) for number in range(100)))

    assert scribing(task) == [number * 2 for number in range(100)]


def test_steps_run_in_the_order_in_which_they_were_written(scribing):
    ran = []

    async def task(scribe):
        await asyncio.gather(*(scribe.write(lambda number=number: ran.append(number)) for number in range(100)))

    scribing(task)
    assert ran == list(range(100))


def test_steps_that_come_while_one_is_written_share_the_next_transaction(scribing, ledger):
    begun = []
    ledger.db.set_trace_callback(lambda sql: begun.append(sql) if sql.startswith("begin") else None)
    is_writing, may_end = threading.Event(), threading.Event()

    def slow():
        is_writing.set()
        assert may_end.wait(30)

    async def task(scribe):
        first = asyncio.create_task(scribe.write(slow))
        await asyncio.to_thread(is_writing.wait, 30)
        others = [asyncio.create_task(scribe.write(lambda: ledger.begin(INTENT))) for _ in range(500)]
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(first, *others)

    scribing(task)
    assert len(begun) == 2
    assert ledger.rows().read_all().num_rows == 500


def test_a_row_is_there_for_others_as_soon_as_write_returns(scribing, ledger):
    async def task(scribe):
        call = await scribe.write(lambda: ledger.begin(INTENT))
        with sqlite3.connect(ledger.path) as other:
            begun = other.execute("select call, status from calls").fetchall()
        await scribe.write(lambda: ledger.end(call, Ending("ok", answer="{}")))
        with sqlite3.connect(ledger.path) as other:
            return begun, other.execute("select call, status, answer from calls").fetchall()

    assert scribing(task) == ([(1, "pending")], [(1, "ok", "{}")])


def test_a_step_that_fails_writes_nothing_and_leaves_those_alone_who_shared_its_transaction(scribing, ledger):
    def breaks():
        raise sqlite3.OperationalError("disk full")

    async def task(scribe):
        steps = [lambda: ledger.begin(INTENT), breaks, lambda: ledger.begin(INTENT)]
        told = await asyncio.gather(*(scribe.write(step) for step in steps), return_exceptions=True)
        return [str(one) for one in told], await scribe.write(lambda: ledger.begin(INTENT))

    told, call = scribing(task)
    assert told == ["1", "the ledger cannot be written: disk full", "2"]
    assert call == 3
    assert ledger.rows().read_all().num_rows == 3


def test_one_who_is_cancelled_does_not_take_its_step_back(scribing, ledger):
    async def task(scribe):
        one = asyncio.create_task(scribe.write(lambda: ledger.begin(INTENT)))
        await asyncio.sleep(0)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one

    scribing(task)
    assert ledger.rows().read_all().num_rows == 1


def test_closing_waits_for_what_is_written(scribing, ledger):
    async def task(scribe):
        for _ in range(50):
            asyncio.create_task(scribe.write(lambda: ledger.begin(INTENT)))  # nobody waits for it
        await asyncio.sleep(0)

    scribing(task)
    assert ledger.rows().read_all().num_rows == 50


def test_two_scribes_of_one_ledger_take_turns(ledger):
    async def run():
        one, other = Scribe(ledger), Scribe(ledger)
        is_writing, may_end = threading.Event(), threading.Event()

        def slow():
            is_writing.set()
            may_end.wait(0.2)
            return ledger.begin(INTENT)

        first = asyncio.create_task(one.write(slow))
        await asyncio.to_thread(is_writing.wait, 30)
        second = asyncio.create_task(other.write(lambda: ledger.begin(INTENT)))
        try:
            return await asyncio.gather(first, second)
        finally:
            may_end.set()
            await asyncio.gather(first, second, return_exceptions=True)
            await one.close()
            await other.close()

    assert sorted(asyncio.run(run())) == [1, 2]


def test_a_ledger_that_cannot_be_written_is_told_to_everybody_who_writes(scribing):
    def breaks():
        raise sqlite3.OperationalError("disk full")

    async def task(scribe):
        return await asyncio.gather(*(scribe.write(breaks) for _ in range(3)), return_exceptions=True)

    assert [str(one) for one in scribing(task)] == ["the ledger cannot be written: disk full"] * 3
