"""A model server on loopback that speaks the OpenAI protocol and fails as planned."""

import argparse
import asyncio
import os
import signal
from collections.abc import Callable
from json import JSONDecodeError

from loopback_api import call_api
from loopback_batches import Batches
from loopback_chat import answer_chat
from loopback_control import Control
from loopback_embeddings import answer_embeddings
from loopback_files import Files
from loopback_http import Answer, Connection, Request, error_answer, json_answer
from loopback_model import Model
from loopback_plan import Endpoint

PARENT_SECONDS = 0.2


class Server:
    """All endpoints; `key` is the bearer token that /v1 wants, if any."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.model = Model()
        files = Files()
        batches = Batches(self.model, files)
        control = Control(self.model, files, batches)
        self.exact: dict[str, Callable[[Request], Answer]] = {
            "POST /v1/chat/completions": lambda request: answer_chat(self.model, request),
            "POST /v1/embeddings": lambda request: answer_embeddings(self.model, request),
            "GET /control": control.plan,
            "POST /control": control.set_plan,
            "GET /control/seen": control.seen,
            "POST /control/reset": control.reset,
        }
        self.api: dict[str, Callable[[Request], Answer]] = {
            "GET /v1/models": self._models,
            "POST /v1/files": files.upload,
            "GET /v1/files": files.listed,
            "POST /v1/batches": batches.create,
            "GET /v1/batches": batches.listed,
        }
        self.by_id: dict[str, Callable[[str], Answer]] = {
            "GET /v1/files/{id}": files.one,
            "GET /v1/files/{id}/content": files.content,
            "DELETE /v1/files/{id}": files.delete,
            "GET /v1/batches/{id}": batches.one,
            "POST /v1/batches/{id}/cancel": batches.cancel,
        }

    def answer(self, request: Request) -> Answer:
        """Answer any request."""
        is_model = request.path.startswith("/v1/")
        if self.key and is_model and request.headers.get("authorization") != f"Bearer {self.key}":
            return error_answer(401, "invalid_api_key", "Incorrect API key provided.")
        name = f"{request.method} {request.path}"
        try:
            return self.exact[name](request) if name in self.exact else self._answer_api(name, request)
        except JSONDecodeError as error:
            return error_answer(400, "invalid_request", str(error))

    def _answer_api(self, name: str, request: Request) -> Answer:
        if name in self.api:
            return call_api(self.model, name, _endpoint(name), lambda: self.api[name](request))
        parts = name.split("/")
        id, parts[3:4] = "".join(parts[3:4]), ["{id}"]
        name = "/".join(parts)
        if name in self.by_id:
            return call_api(self.model, name, _endpoint(name), lambda: self.by_id[name](id))
        return error_answer(404, "not_found", "There is nothing at this address.")

    def _models(self, request: Request) -> Answer:
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in self.model.plan.models]
        return json_answer({"object": "list", "data": models})


def _endpoint(name: str) -> Endpoint:
    part = name.split("/")[2]
    return "files" if part == "files" else "batches" if part == "batches" else "models"


async def serve(port: int, key: str | None, parent: int) -> None:
    """Serve until SIGTERM, or until the parent is gone."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    server = Server(key)
    listening = await loop.create_server(lambda: Connection(server.answer), "127.0.0.1", port, backlog=4096)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    # Not PR_SET_PDEATHSIG: that also fires when only the thread that started this process ends.
    while os.getppid() == parent and not ended.is_set():
        try:
            await asyncio.wait_for(ended.wait(), PARENT_SECONDS)
        except TimeoutError:
            continue
    listening.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--key", help="the bearer token that calls must carry")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="the process that this one ends with")
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.key, given.parent))
