import asyncio

import pytest

from llm.endpoint.refusals import RefusedError
from llm.endpoint.under_way import UnderWay


async def forever():
    await asyncio.Event().wait()


def test_work_is_found_by_its_keys_until_it_has_ended():
    async def scene():
        under_way, ended = UnderWay(), asyncio.Event()
        task = under_way.start("ab", ended.wait())
        assert under_way.tasks == {"a": task, "b": task}
        ended.set()
        assert await under_way.result(task) is True
        assert under_way.tasks == {}

    asyncio.run(scene())


def test_one_who_waits_may_leave_and_the_work_goes_on():
    async def scene():
        under_way, ended = UnderWay(), asyncio.Event()
        task = under_way.start("a", ended.wait())
        leaving, staying = (asyncio.create_task(under_way.result(task)) for _ in "12")
        await asyncio.sleep(0)
        leaving.cancel()
        ended.set()
        assert await staying is True
        with pytest.raises(asyncio.CancelledError):
            await leaving

    asyncio.run(scene())


def test_stopping_ends_what_is_under_way_and_begins_nothing():
    async def scene():
        under_way = UnderWay()
        waiting = asyncio.create_task(under_way.result(under_way.start("a", forever())))
        await asyncio.sleep(0)
        await under_way.stop(0, lambda: False)
        with pytest.raises(RefusedError) as told:
            await waiting
        assert told.value.status == 503
        with pytest.raises(RefusedError):
            under_way.start("b", forever())
        assert under_way.tasks == {}

    asyncio.run(scene())


def test_what_ends_in_time_is_not_cut_off():
    async def scene():
        under_way = UnderWay()
        waiting = asyncio.create_task(under_way.result(under_way.start("a", asyncio.sleep(0.05, "done"))))
        await asyncio.sleep(0)
        await under_way.stop(60, lambda: False)
        assert await waiting == "done"

    asyncio.run(scene())


def test_somebody_in_a_hurry_does_not_wait():
    async def scene():
        under_way = UnderWay()
        task = under_way.start("a", forever())
        await under_way.stop(3600, lambda: True)
        assert task.cancelled()

    asyncio.run(scene())


def test_work_that_failed_with_nobody_waiting_is_not_complained_about(caplog):
    async def failing():
        raise RefusedError(400, "code", "message")

    async def scene():
        under_way = UnderWay()
        under_way.start("a", failing())
        for _ in range(3):
            await asyncio.sleep(0)
        assert under_way.tasks == {}

    asyncio.run(scene())
    assert caplog.text == ""
