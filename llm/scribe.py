"""Writes to the ledger for many tasks at once: what comes in while one transaction runs shares the next."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from llm.ledger import Ledger

Result = TypeVar("Result")
Step = Callable[[], Any]


class Scribe:
    """Takes steps of one event loop, runs them in order in a thread, and answers when they are committed."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self.waiting: list[tuple[Step, asyncio.Future[Any]]] = []
        self.writing: asyncio.Task[None] | None = None

    async def write(self, step: Callable[[], Result]) -> Result:
        """Run a step that writes, and return what it gives once that is durable.

        A task that is cancelled meanwhile does not take its step back.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.waiting.append((step, future))
        if self.writing is None:
            self.writing = asyncio.create_task(self._drain())
        return await future

    async def close(self) -> None:
        """Wait until all is written."""
        while self.writing is not None:
            await asyncio.shield(self.writing)
        self.thread.shutdown()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self.waiting:
                taken, self.waiting = self.waiting, []
                try:
                    results = await loop.run_in_executor(self.thread, self._run, [step for step, _ in taken])
                except Exception as error:
                    for _, future in taken:
                        if not future.done():
                            future.set_exception(error)
                else:
                    for (_, future), result in zip(taken, results, strict=True):
                        if not future.done():
                            future.set_result(result)
        finally:
            self.writing = None

    def _run(self, steps: list[Step]) -> list[Any]:
        with self.ledger.transaction():
            return [step() for step in steps]
