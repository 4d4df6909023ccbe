"""Files that a client sent, or a batch made."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from loopback_http import Answer, Request, error_answer, json_answer
from loopback_seen import Attempt


@dataclass
class File:
    """One file; `attempts` are those whose answers stand in it."""

    id: str
    name: str
    purpose: str
    content: bytes
    attempts: Sequence[Attempt] = ()
    created_at: int = field(default_factory=lambda: int(time.time()))

    def told(self) -> dict[str, Any]:
        """Return the file without its content, in the form of the protocol."""
        return {
            **{"id": self.id, "object": "file", "bytes": len(self.content), "created_at": self.created_at},
            **{"filename": self.name, "purpose": self.purpose, "status": "processed"},
        }


@dataclass
class Files:
    """All files, by id."""

    stored: dict[str, File] = field(default_factory=dict)
    made: int = 0

    def add(self, name: str, purpose: str, content: bytes, attempts: Sequence[Attempt] = ()) -> File:
        """Store a file under a new id."""
        self.made += 1
        file = File(f"file-{self.made}", name, purpose, content, attempts)
        self.stored[file.id] = file
        return file

    def upload(self, request: Request) -> Answer:
        """Answer POST /v1/files."""
        parts = read_form(request)
        if "file" not in parts:
            return error_answer(400, "invalid_request", "a file must be given")
        name, content = parts["file"]
        return json_answer(self.add(name, parts.get("purpose", ("", b""))[1].decode(), content).told())

    def listed(self, request: Request) -> Answer:
        """Answer GET /v1/files: all of them on one page."""
        data = [file.told() for file in reversed(self.stored.values())]
        return json_answer({"object": "list", "data": data, "has_more": False})

    def one(self, id: str) -> Answer:
        """Answer GET /v1/files/{id}."""
        return json_answer(self.stored[id].told()) if id in self.stored else _missing()

    def content(self, id: str) -> Answer:
        """Answer GET /v1/files/{id}/content; answers in a file are written when the whole file is."""
        if id not in self.stored:
            return _missing()
        file = self.stored[id]
        return Answer(200, file.content, content_type="application/octet-stream", ended=partial(_mark, file.attempts))

    def delete(self, id: str) -> Answer:
        """Answer DELETE /v1/files/{id}."""
        gone = self.stored.pop(id, None)
        return json_answer({"id": id, "object": "file", "deleted": True}) if gone else _missing()


def read_form(request: Request) -> dict[str, tuple[str, bytes]]:
    """Return the fields of a multipart form: name of the field, then file name and content."""
    boundary = request.headers.get("content-type", "").partition("boundary=")[2].strip('"').encode()
    fields = {}
    for part in request.body.split(b"--" + boundary)[1:-1] if boundary else []:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        told = dict(one.split("=", 1) for one in head.decode().split("\r\n")[0].split("; ")[1:])
        fields[told["name"].strip('"')] = told.get("filename", "").strip('"'), content.removesuffix(b"\r\n")
    return fields


def _mark(attempts: Sequence[Attempt], written: bool) -> None:
    for attempt in attempts:
        attempt.is_written = attempt.is_written or written


def _missing() -> Answer:
    return error_answer(404, "not_found", "There is no such file.")
