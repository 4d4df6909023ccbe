"""A hub of datasets on loopback that speaks the Hugging Face hub's protocol: commits, listings, files."""

import hashlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".parquet", ".gz")
"""Files with such names are kept by their SHA-256 in a store of large files, all others in git."""
PAGE = 3
"""Files a page of a listing."""


@dataclass
class Dataset:
    """A dataset: its commits, each the bytes of files by name, and the branches and tags that name commits."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    is_gated: bool = False
    """Its files are for those with a token only."""
    is_private: bool = False
    """Without a token it is as if it were not there."""

    def commit(self, files: dict[str, bytes], ref: str = "main") -> str:
        """Add a commit that a branch or tag names from now on; give its 40 digits."""
        told = json.dumps([len(self.commits), sorted((name, sha256_of(data)) for name, data in files.items())])
        made = hashlib.sha1(told.encode()).hexdigest()
        self.commits[made] = files
        self.refs[ref] = made
        return made


@dataclass
class Hub:
    """What the hub has, whom it knows, what goes wrong with it, and what it was asked for."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    token: str = "good"
    cuts: list[int] = field(default_factory=list)
    """The next downloads of large files end after so many bytes; below zero, the connection is reset then."""
    status: int | None = None
    """Answers everything with this, if set."""
    lies: dict[str, bytes] = field(default_factory=dict)
    """Sends other bytes for a file, by its name."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Says other sizes of files in listings, by name."""
    requests: list[str] = field(default_factory=list)
    """Each request: method, path, and the range if one was asked for."""


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 digits."""
    return hashlib.sha256(data).hexdigest()


def git_id_of(data: bytes) -> str:
    """Return what git names a file by."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Refused(Exception):  # noqa: N818 # an answer of the hub, no fault of this server
    """An answer of 4xx: its status, and the code and message that the hub's client looks at."""

    def __init__(self, status: int, code: str | None = None, message: str = "refused") -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})


class Handler(BaseHTTPRequestHandler):
    """Answers requests out of `hub`."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        asked = self.headers.get("Range")
        self.hub.requests.append(f"{self.command} {url.path}{f' {asked}' if asked else ''}")
        try:
            if self.hub.status:
                raise Refused(self.hub.status)
            self._route([unquote(part) for part in url.path.split("/")[1:]], parse_qs(url.query))
        except Refused as refused:
            self._send(refused.status, b"", refused.headers)

    def _route(self, parts: list[str], query: dict[str, list[str]]) -> None:
        match parts:
            case ["api", "datasets", owner, name]:
                self._info(f"{owner}/{name}", "main")
            case ["api", "datasets", owner, name, "revision", revision]:
                self._info(f"{owner}/{name}", revision)
            case ["api", "datasets", owner, name, "tree", revision]:
                self._tree(f"{owner}/{name}", revision, int(query.get("cursor", ["0"])[0]))
            case ["datasets", owner, name, "resolve", revision, *path]:
                self._resolve(f"{owner}/{name}", revision, "/".join(path))
            case ["large", sha256]:
                self._large(sha256)
            case _:
                raise Refused(404)

    def _dataset(self, id: str) -> Dataset:
        authorization = self.headers.get("Authorization")
        if authorization not in (None, f"Bearer {self.hub.token}"):
            raise Refused(401, message="Invalid credentials in Authorization header")
        if id not in self.hub.datasets or (self.hub.datasets[id].is_private and not authorization):
            raise Refused(404 if authorization else 401, "RepoNotFound", "Repository not found")
        return self.hub.datasets[id]

    def _commit(self, dataset: Dataset, revision: str) -> tuple[str, dict[str, bytes]]:
        commit = dataset.refs.get(revision, revision)
        if commit not in dataset.commits:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, dataset.commits[commit]

    def _info(self, id: str, revision: str) -> None:
        commit, files = self._commit(self._dataset(id), revision)
        self._json({"id": id, "sha": commit, "siblings": [{"rfilename": name} for name in files]})

    def _tree(self, id: str, revision: str, start: int) -> None:
        _, files = self._commit(self._dataset(id), revision)
        folders = sorted({name.rpartition("/")[0] for name in files} - {""})
        listed = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": folder} for folder in folders]
        listed += [self._listed(name, data) for name, data in sorted(files.items())]
        more = f'<http://{self.headers["Host"]}/api/datasets/{id}/tree/{revision}?cursor={start + PAGE}>; rel="next"'
        self._json(listed[start : start + PAGE], {"Link": more} if start + PAGE < len(listed) else {})

    def _listed(self, name: str, data: bytes) -> dict[str, Any]:
        size = self.hub.sizes.get(name, len(data))
        file = {"type": "file", "oid": git_id_of(data), "size": size, "path": name}
        if name.endswith(LARGE):
            file["lfs"] = {"oid": sha256_of(data), "size": size, "pointerSize": 130}
        return file

    def _resolve(self, id: str, revision: str, name: str) -> None:
        dataset = self._dataset(id)
        if dataset.is_gated and not self.headers.get("Authorization"):
            raise Refused(401, "GatedRepo", "Access to this dataset is restricted")
        commit, files = self._commit(dataset, revision)
        if name not in files:
            raise Refused(404, "EntryNotFound", "Entry not found")
        data = files[name]
        headers = {"X-Repo-Commit": commit}
        if not name.endswith(LARGE):
            self._send(200, data, headers | {"ETag": f'"{git_id_of(data)}"'})
            return
        # The store is another host, to which no token may be shown.
        port = self.headers["Host"].rpartition(":")[2]
        headers |= {"X-Linked-Etag": f'"{sha256_of(data)}"', "X-Linked-Size": str(len(data))}
        self._send(302, b"", headers | {"Location": f"http://localhost:{port}/large/{sha256_of(data)}"})

    def _large(self, sha256: str) -> None:
        if self.headers.get("Authorization"):
            raise Refused(400, message="a token was shown to the store")
        name, data = next(
            (name, data)
            for dataset in self.hub.datasets.values()
            for files in dataset.commits.values()
            for name, data in files.items()
            if sha256_of(data) == sha256
        )
        data = self.hub.lies.get(name, data)
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        headers = {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._send(206 if start else 200, data[start:], headers, self.hub.cuts.pop(0) if self.hub.cuts else None)

    def _json(self, value: object, headers: dict[str, str] | None = None) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _send(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[: abs(cut)])
        if cut is not None:
            self.close_connection = True
            if cut < 0:
                no_time = struct.pack("ii", 1, 0)  # to send the rest: the other side is told of a reset
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_time)
                self.connection.close()


@contextmanager
def serving_hub() -> Iterator[tuple[str, Hub]]:
    """Serve a hub without datasets on a free port; give its address and the hub, which can be changed all the time."""
    hub = Hub()
    handler = type("OfHub", (Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", hub
        finally:
            server.shutdown()
            thread.join()
