"""Batch jobs at an address that speaks the OpenAI protocol: handed in, found again, looked at, read."""

import asyncio
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from openai import omit

from llm.errors import ModelError
from llm.insistence import Insistence, RefusedError, object_in
from llm.wire import Wire

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MARK = "alpsbench"
"""The key of a job's metadata that holds our own name for it."""
READINGS = 3
"""How often a file of answers is fetched that does not look whole."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """How far a job is: how many of its calls are answered and failed so far, and in which files they stand.

    Its status is the server's word, or `gone` where the server does not know it any more; `error` is the server's code
    for why it failed.
    """

    status: str
    answered: int = 0
    failed: int = 0
    answers: str | None = None
    failures: str | None = None
    error: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ("completed", "failed", "expired", "cancelled", "gone")


class Jobs:
    """Hands in jobs of at most `calls` calls in at most `size_bytes`, and reads them.

    They are looked at every `poll_seconds`. While their server is out of reach or in trouble it is asked on for
    `patience_seconds`: they go on meanwhile.
    """

    def __init__(
        self,
        poll_seconds: float = 20.0,
        patience_seconds: float = 3600.0,
        calls: int = 10_000,
        size_bytes: int = 64_000_000,
    ) -> None:
        self.poll_seconds = poll_seconds
        self.calls = calls
        self.size_bytes = size_bytes
        self.insistence = Insistence(poll_seconds, patience_seconds)

    async def hand_in(self, wire: Wire, mark: str, lines: bytes) -> str:
        """Hand in one line a call under a new name of our own, and return the id of the job.

        The file may be sent twice if need be; the job is not begun twice, since it is looked for before.

        Raises:
            RefusedError: the server takes no such job.
            ModelError: the server cannot be reached, and may have begun it or not.
        """
        files, batches = wire.client.files.with_raw_response, wire.client.batches.with_raw_response

        async def sent() -> str:
            raw = await files.create(file=(f"{mark}.jsonl", lines), purpose="batch")
            return str(object_in(raw.content, "id", str)["id"])

        file = await self.insistence.until_told(wire, sent)
        is_first = True

        async def begun() -> str:
            nonlocal is_first
            if not is_first and (found := await _found(wire, mark)):
                return found
            is_first = False
            raw = await batches.create(
                input_file_id=file, endpoint=ENDPOINT, completion_window="24h", metadata={MARK: mark}
            )
            return str(object_in(raw.content, "id", str)["id"])

        return await self.insistence.until_told(wire, begun)

    async def find(self, wire: Wire, mark: str) -> str | None:
        """Return the job of our own name, if it was ever handed in.

        It may appear a moment after the process died that handed it in: so it is looked for twice.
        """
        found = await self.insistence.until_told(wire, partial(_found, wire, mark))
        if found is None:
            await self.wait()
            found = await self.insistence.until_told(wire, partial(_found, wire, mark))
        return found

    async def look(self, wire: Wire, mark: str, job: str) -> Job:
        """Say how far a job is, by our own name for it and its id.

        Raises:
            ModelError: the server refuses to say, or cannot be reached.
        """

        async def looked() -> Job:
            raw = await wire.client.batches.with_raw_response.retrieve(job)
            return job_of(object_in(raw.content, "status", str))

        try:
            return await self.insistence.until_told(wire, looked)
        except RefusedError as error:
            # Only where other jobs can be listed this one is gone; else it is the address that is not right.
            if error.number != 404 or await self.find(wire, mark):
                raise
            return Job("gone")

    async def read(self, wire: Wire, job: Job, read: Callable[[dict[str, Any]], Result]) -> dict[str, Result]:
        """Return what came of the calls of a job that has ended, by custom_id: of several lines for one the first.

        Raises:
            ModelError: the server gives out something else, or cannot be reached.
        """
        found: dict[str, Result] = {}
        for file, least in ((job.answers, job.answered), (job.failures, job.failed)):
            if file is not None:
                found = {**await self._lines(wire, file, least, read), **found}
        return found

    async def _lines(
        self, wire: Wire, file: str, least: int, read: Callable[[dict[str, Any]], Result]
    ) -> dict[str, Result]:
        """Read a file until it looks whole; what stays broken in it is left out, and a file that is gone is empty."""
        for reading in range(READINGS):
            if reading:
                await self.wait()
            content = await self._content(wire, file)
            texts = io.BytesIO(content or b"")  # of all marks that end a line elsewhere, only \n does here
            lines = [_line_of(text, read) for text in texts if text.strip()]
            found = dict(reversed([line for line in lines if line is not None]))
            if content is not None and None not in lines and len(lines) >= least:
                return found
        if content is not None and not found and (lines or least):
            raise ModelError(f"{wire.entry.name}: a batch job's answers cannot be read; run it again later")
        return found

    async def _content(self, wire: Wire, file: str) -> bytes | None:
        async def fetched() -> bytes:
            return (await wire.client.files.with_raw_response.content(file)).content

        try:
            return await self.insistence.until_told(wire, fetched)
        except RefusedError as error:
            if error.number != 404:
                raise
            return None

    async def wait(self) -> None:
        """Wait until it is worth looking again."""
        await asyncio.sleep(self.poll_seconds)


async def _found(wire: Wire, mark: str) -> str | None:
    """Look through all jobs at an address: nobody knows how many others have handed in since."""
    after = None
    while True:
        raw = await wire.client.batches.with_raw_response.list(limit=100, after=after or omit)
        page = object_in(raw.content, "data", list)
        jobs = [job for job in page["data"] if isinstance(job, dict) and isinstance(job.get("id"), str)]
        mine = [job["id"] for job in jobs if _at(job.get("metadata"), MARK, str) == mark]
        if mine:
            return str(mine[0])
        if not jobs or not page.get("has_more"):
            return None
        after = jobs[-1]["id"]


def job_of(value: dict[str, Any]) -> Job:
    """Read a job as a server describes it; nothing but its status is trusted to be there."""
    counts = value.get("request_counts")
    errors = value.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    return Job(
        value["status"],
        _at(counts, "completed", int) or 0,
        _at(counts, "failed", int) or 0,
        _at(value, "output_file_id", str),
        _at(value, "error_file_id", str),
        _at(first, "code", str),
    )


def _at(value: object, name: str, kind: type[Result]) -> Result | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def _line_of(text: bytes, read: Callable[[dict[str, Any]], Result]) -> tuple[str, Result] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = _at(line, "custom_id", str)
    return (name, read(line)) if name else None
