"""Lets Ctrl-C end a run between two steps of its tasks, never in the middle of one."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_interruptibly(runner: asyncio.Runner, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a task to its end; Ctrl-C cancels it and is raised when it has ended.

    The handler of asyncio raises inside whatever other task is at work when this one has just ended: that task can
    then settle nothing, and the loop cannot be used any more.

    Raises:
        KeyboardInterrupt: there was a Ctrl-C meanwhile.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return runner.run(work())
    loop = runner.get_loop()
    told: list[int] = []
    tasks: list[asyncio.Task[Any]] = []

    def cancel() -> None:
        for task in tasks:
            task.cancel()

    async def watched() -> Result:
        tasks.extend(filter(None, [asyncio.current_task()]))
        if told:
            cancel()
        return await work()

    def note(number: int, _: object) -> None:
        told.append(number)
        loop.call_soon_threadsafe(cancel)

    signal.signal(signal.SIGINT, note)
    try:
        return runner.run(watched())
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if told:
            raise KeyboardInterrupt
