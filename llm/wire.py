"""One exchange with a server that speaks the OpenAI protocol; whatever goes wrong there has a name here."""

import asyncio
import time
from typing import Any

import openai
from openai import AsyncOpenAI

from llm.attempts import Reply, Status
from llm.catalogue import Entry
from llm.errors import ModelError
from llm.pace import retry_after_of

NO_BALANCE = "the account has no balance"
STOPPING = {
    401: "the key is not accepted",
    402: NO_BALANCE,
    403: "access is refused",
    404: "the address or the model is not known there",
}
BY_STATUS: dict[int, Status] = {408: "timeout", 409: "server_error", 425: "server_error", 429: "rate_limited"}
BY_CODE: dict[str, Status] = {
    "context_length_exceeded": "too_long",
    "string_above_max_length": "too_long",
    "content_filter": "filtered",
    "content_policy_violation": "filtered",
}


class Wire:
    """The connection to one address with one key. Until it is closed it belongs to one event loop."""

    def __init__(self, entry: Entry, key: str | None) -> None:
        """Name the address, and the key that it wants.

        Raises:
            ModelError: the key holds what no header can; the errors of HTTP would show it.
        """
        key = key.strip() if key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ModelError(f"the key of {entry.name} holds characters that no key has; copy it again")
        self.entry = entry
        self.key = key
        self.opened: AsyncOpenAI | None = None
        self.has_answered = False

    @property
    def client(self) -> AsyncOpenAI:
        """The client; it tries nothing again by itself, since each attempt is to be counted."""
        if self.opened is None:
            self.opened = AsyncOpenAI(
                base_url=self.entry.url, api_key=self.key or "none", max_retries=0, timeout=self.entry.timeout_seconds
            )
        return self.opened

    async def post(self, path: str, body: dict[str, Any]) -> Reply | dict[str, Any]:
        """Send one body and return the JSON object that comes back, or what came instead.

        A time-out counts from the sending to the last byte, so that a server which goes on and on ends too.
        """
        try:
            async with asyncio.timeout(self.entry.timeout_seconds):
                answer = await self.client.post(path, body=body, cast_to=object)
        except (TimeoutError, openai.APITimeoutError):
            return Reply("timeout")
        except openai.APIStatusError as error:
            self.has_answered = True
            return self._refused(error)
        except openai.APIConnectionError as error:
            return self._unreachable(error)
        except (ValueError, RecursionError, openai.APIError):  # the body is no JSON; the error would show it
            return Reply("empty", detail="no completion")
        self.has_answered = True
        if isinstance(answer, dict):
            return error_in(answer) or answer
        return Reply("empty", detail="no completion")

    def _refused(self, error: openai.APIStatusError) -> Reply:
        number, code = error.status_code, error.code
        if number == 429 and code == "insufficient_quota":
            return Reply("http_error", detail="429 insufficient_quota", stops=self._stops(f"{NO_BALANCE} (429)"))
        if number in STOPPING:
            return Reply("http_error", detail=str(number), stops=self._stops(f"{STOPPING[number]} ({number})"))
        retry_after = retry_after_of(error.response.headers, time.time())
        return Reply(status_of(number, code), detail=str(number), retry_after=retry_after)

    def _unreachable(self, error: openai.APIConnectionError) -> Reply:
        """Tell a connection that was cut from an address at which nobody ever answered."""
        cause = error.__cause__
        if self.has_answered or type(cause).__name__ != "ConnectError":
            return Reply("unreachable", detail=type(cause).__name__ if cause else None)
        where = f"{self.entry.name} cannot be reached at {self.entry.url}"
        return Reply("unreachable", detail="ConnectError", stops=f"{where}: {str(cause) or 'no answer'}")

    def _stops(self, reason: str) -> str:
        return f"{self.entry.name} at {self.entry.url}: {reason}"

    async def close(self) -> None:
        """Let go of the connections."""
        if self.opened is not None:
            await self.opened.close()
            self.opened = None


def status_of(number: int, code: object = None) -> Status:
    """Return what an HTTP status, with the code in its body if there is one, means for a call."""
    known = BY_CODE.get(str(code)) or BY_STATUS.get(number)
    return known or ("server_error" if number >= 500 else "http_error")


def error_in(answer: dict[str, Any]) -> Reply | None:
    """Read the error that some servers send with status 200."""
    error = answer.get("error")
    if not error:
        return None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    if code in BY_CODE:
        return Reply(BY_CODE[code], detail="200")
    if code == "429" or code.startswith("rate_limit"):
        return Reply("rate_limited", detail="200")
    return Reply("server_error", detail="200")
