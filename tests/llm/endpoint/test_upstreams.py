import asyncio

import pytest

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.endpoint.refusals import RefusedError
from llm.endpoint.upstreams import Label, Upstreams
from llm.ledger import Ledger

ONE, OTHER = "http://one.example/v1", "http://other.example/v1"


@pytest.fixture
def upstreams(tmp_path):
    """Give three models at two addresses; the third wants a key that is not there."""
    entries = [Entry("a", ONE, "a"), Entry("b", ONE, "b", concurrency=3), Entry("c", OTHER, "c", "NO_KEY")]
    return Upstreams({entry.name: entry for entry in entries}, {}, tmp_path / "ledger.sqlite")


def test_models_at_one_address_share_its_pace(upstreams):
    first, second = upstreams.of("a", "chat"), upstreams.of("b", "chat")
    assert first.meter.terms.pace is second.meter.terms.pace
    assert upstreams.of("a", "chat") is first


def test_a_model_can_be_asked_if_its_key_is_there_or_none_is_wanted(upstreams):
    assert [upstreams.has_key(upstreams.entries[name]) for name in "abc"] == [True, True, False]


def test_calls_that_end_while_they_are_written_down_leave_nothing_pending(upstreams, tmp_path):
    async def forever() -> Reply:
        await asyncio.Event().wait()
        return Reply("ok", "never")

    async def scene():
        upstream = upstreams.of("a", "chat")
        calls = [asyncio.create_task(upstream.call(f"{n}", Label("p", "s"), 1000, forever)) for n in range(40)]
        for _ in range(2):  # begun, and not yet written
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await upstreams.close()

    asyncio.run(scene())
    db = Ledger(tmp_path / "ledger.sqlite").db
    statuses = {status for (status,) in db.execute("select status from calls")}
    assert statuses == {"cancelled"}


def test_what_is_no_name_is_refused(upstreams):
    for name in (None, 5, ["a"], {"a": 1}):
        with pytest.raises(RefusedError) as refused:
            upstreams.of(name, "chat")
        assert refused.value.status == 400
