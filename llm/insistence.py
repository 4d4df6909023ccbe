"""Asks a server for something that costs nothing, again and again while it is out of reach or in trouble."""

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import openai
import tenacity

from llm.errors import ModelError
from llm.pace import LONGEST_PAUSE_SECONDS, retry_after_of
from llm.wire import NO_BALANCE, STOPPING, Wire

Result = TypeVar("Result")


class RefusedError(ModelError):
    """A server that says no for good: it did nothing. `number` is its HTTP status."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


@dataclass(frozen=True)
class Insistence:
    """Asks every `pause_seconds`, or as late as the server wants, for `patience_seconds` in all.

    A first call to an address at which nobody listens is the last one.
    """

    pause_seconds: float
    patience_seconds: float

    async def until_told(self, wire: Wire, ask: Callable[[], Awaitable[Result]]) -> Result:
        """Return what `ask` gives; a ValueError of it means that the answer is not what it should be.

        Raises:
            RefusedError: the server says no for good.
            ModelError: it cannot be reached, or does not say anything that can be read.
        """

        async def once() -> Result:
            try:
                answer = await ask()
            except openai.APIStatusError:
                wire.has_answered = True
                raise
            wire.has_answered = True
            return answer

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(partial(_is_passing, wire)),
            wait=self._pause,
            stop=tenacity.stop_after_delay(self.patience_seconds),
            reraise=True,
        )
        try:
            return await retrying(once)
        except openai.APIStatusError as error:
            if not _is_passing(wire, error):
                raise _refusal(wire, error) from None
            trouble = f"answers {error.status_code}"
        except openai.APIConnectionError:
            trouble = "cannot be reached"
        except (ValueError, RecursionError):
            trouble = "answers nothing that can be read"
        raise ModelError(f"{_where(wire)} {trouble}; batch jobs go on there: run it again later")

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        headers = error.response.headers if isinstance(error, openai.APIStatusError) else None
        told = retry_after_of(headers, time.time()) or 0.0
        return max(self.pause_seconds, min(told, LONGEST_PAUSE_SECONDS))


def object_in(content: bytes, name: str, kind: type) -> dict[str, Any]:
    """Return the JSON object that a server sent.

    Raises:
        ValueError: it is none, or what it must hold under `name` is not of that kind.
    """
    value = json.loads(content)
    if not isinstance(value, dict) or not isinstance(value.get(name), kind):
        raise ValueError("not what was asked for")
    return value


def _is_passing(wire: Wire, error: BaseException) -> bool:
    if isinstance(error, openai.APIStatusError):
        number = error.status_code
        return number >= 500 or number in (408, 409, 425) or (number == 429 and error.code != "insufficient_quota")
    if isinstance(error, openai.APIConnectionError):
        return wire.has_answered or type(error.__cause__).__name__ != "ConnectError"
    return isinstance(error, ValueError | RecursionError)


def _refusal(wire: Wire, error: openai.APIStatusError) -> RefusedError:
    number = error.status_code
    reason = NO_BALANCE if error.code == "insufficient_quota" else STOPPING.get(number, "batch jobs are refused")
    return RefusedError(f"{_where(wire)}: {reason} ({number})", number)


def _where(wire: Wire) -> str:
    return f"{wire.entry.name} at {wire.entry.url}"
