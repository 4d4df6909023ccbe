"""Writes to the ledger for many tasks at once: what comes in while one transaction runs shares the next."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from llm.ledger import Ledger
from warehouse.errors import DamagedError

Result = TypeVar("Result")
Step = Callable[[], Any]


@dataclass(frozen=True)
class Failed:
    """The error of a step, in the place of what it would have given."""

    error: Exception


def _failed(error: Exception) -> Failed:
    if isinstance(error, sqlite3.OperationalError):
        return Failed(DamagedError(f"the ledger cannot be written: {error}"))
    return Failed(error)


class Scribe:
    """Takes steps of one event loop, runs them in order in a thread, and answers when they are committed."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self.waiting: list[tuple[Step, asyncio.Future[Any]]] = []
        self.writing: asyncio.Task[None] | None = None

    def post(self, step: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Have a step run that writes; the future has what it gives once that is durable.

        Whoever waits for it and is cancelled meanwhile does not take the step back.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.waiting.append((step, future))
        if self.writing is None:
            self.writing = asyncio.create_task(self._drain())
        return future

    async def write(self, step: Callable[[], Result]) -> Result:
        """Run a step that writes, and return what it gives once that is durable."""
        return await self.post(step)

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
                results = await loop.run_in_executor(self.thread, self._run, [step for step, _ in taken])
                for (_, future), result in zip(taken, results, strict=True):
                    if future.done():
                        continue
                    if isinstance(result, Failed):
                        future.set_exception(result.error)
                    else:
                        future.set_result(result)
        finally:
            self.writing = None

    def _run(self, steps: list[Step]) -> list[Any]:
        """Run steps in one transaction; where one of them fails, each in its own, so that it alone does."""
        try:
            with self.ledger.transaction():
                return [step() for step in steps]
        except Exception as error:
            return [_failed(error)] if len(steps) == 1 else [result for step in steps for result in self._run([step])]
