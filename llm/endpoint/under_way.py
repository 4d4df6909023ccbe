"""What is being asked, by key: whoever asks the same meanwhile waits for it instead of paying again."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from llm.endpoint.refusals import RefusedError

LOOK_SECONDS = 0.1


class UnderWay:
    """The calls under way. Each goes on when the client that began it leaves: another try finds its answer."""

    def __init__(self) -> None:
        self.tasks: dict[str, asyncio.Task[Any]] = {}
        self.is_stopping = False

    def start(self, keys: Iterable[str], work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin the work that answers some keys.

        Raises:
            RefusedError: the gateway is stopping.
        """
        if self.is_stopping:
            work.close()
            raise stopping()
        task = asyncio.create_task(work)
        keys = list(keys)
        self.tasks |= dict.fromkeys(keys, task)
        task.add_done_callback(lambda _: self._forget(keys, task))
        return task

    async def result(self, task: asyncio.Task[Any]) -> Any:
        """Wait for work that others may wait for, too.

        Raises:
            RefusedError: the gateway stopped meanwhile, or the work was refused.
        """
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise stopping() from None
            raise

    async def stop(self, seconds: float, is_urgent: Callable[[], bool]) -> None:
        """Begin nothing any more, give what is under way some time, and end the rest."""
        self.is_stopping = True
        deadline = time.monotonic() + seconds
        while self.tasks and time.monotonic() < deadline and not is_urgent():
            await asyncio.wait(set(self.tasks.values()), timeout=LOOK_SECONDS)
        rest = set(self.tasks.values())
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _forget(self, keys: list[str], task: asyncio.Task[Any]) -> None:
        for key in keys:
            del self.tasks[key]
        if not task.cancelled():
            task.exception()  # those who wait are told; with nobody left, nothing is to be said


def stopping() -> RefusedError:
    """Tell that the gateway is going."""
    return RefusedError(503, "gateway_stopping", "the gateway is stopping")
