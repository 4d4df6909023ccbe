"""The routes of the gateway: who may come in, what is read of a request, and what goes back."""

import hmac
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from llm.endpoint.chat import Completions
from llm.endpoint.chunks import events_of
from llm.endpoint.embeddings import Embeddings
from llm.endpoint.refusals import RefusedError, wrong
from llm.endpoint.under_way import UnderWay, stopping
from llm.endpoint.upstreams import Label, Upstreams
from llm.ledger import Ledger

MOST_BYTES = 32 * 1024 * 1024
"""The longest body that is read."""
CACHE, PROMPT, SUBJECT = "x-alpsbench-cache", "x-alpsbench-prompt", "x-alpsbench-subject"

Handler = Callable[[Request], Awaitable[Response]]
log = logging.getLogger(__name__)


class Endpoint:
    """The models of a catalogue at one address, for those who have its token.

    Chat completions and embeddings are passed on as they are, whole answers come back, and what was answered once is
    not asked again. Every attempt is a row of the ledger. Who wants a stream is told the finished answer as one.
    """

    def __init__(self, upstreams: Upstreams, token: str) -> None:
        self.upstreams = upstreams
        self.token = token.encode()
        self.under_way = UnderWay()
        known = Ledger(upstreams.ledger)
        self.completions = Completions(known, self.under_way)
        self.embeddings = Embeddings(known, self.under_way)
        self.replayed = 0
        routes = [
            Route("/health", self._guarded(self._health), methods=["GET"]),
            Route("/v1/models", self._guarded(self._for_those_with_the_token(self._models)), methods=["GET"]),
            *(
                Route(path, self._guarded(self._for_those_with_the_token(handler)), methods=["POST"])
                for path, handler in (("/v1/chat/completions", self._chat), ("/v1/embeddings", self._embed))
            ),
        ]
        self.app = Starlette(routes=routes, exception_handlers={HTTPException: _nothing_here})

    @property
    def attempts(self) -> int:
        """How many calls were made so far."""
        return sum(upstream.meter.attempts for upstream in self.upstreams.opened.values())

    async def stop(self, seconds: float, is_urgent: Callable[[], bool]) -> None:
        """Begin nothing new, give calls under way some seconds to end, less when that is urgent, and end the rest."""
        await self.under_way.stop(seconds, is_urgent)

    async def close(self) -> None:
        """Have everything in the ledger, and let go of all connections."""
        await self.upstreams.close()

    async def _health(self, request: Request) -> Response:
        if self.under_way.is_stopping:
            raise stopping()
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        names = sorted(self.upstreams.entries)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "alpsbench"} for name in names]
        return JSONResponse({"object": "list", "data": models})

    async def _chat(self, request: Request) -> Response:
        body = await read_body(request)
        upstream = self.upstreams.of(body.get("model"), "chat")
        completion, is_known = await self.completions.answer(upstream, body, label_of(request))
        if not body.get("stream"):
            return self._answered(completion, is_known)
        has_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return self._answered(events_of(completion, has_usage), is_known, "text/event-stream")

    async def _embed(self, request: Request) -> Response:
        body = await read_body(request)
        upstream = self.upstreams.of(body.get("model"), "embeddings")
        found, is_known = await self.embeddings.answer(upstream, body, label_of(request))
        return self._answered(orjson.dumps(found), is_known)

    def _answered(self, content: str | bytes, is_known: bool, media_type: str = "application/json") -> Response:
        self.replayed += is_known
        return Response(content, headers={CACHE: "hit" if is_known else "miss"}, media_type=media_type)

    def _for_those_with_the_token(self, handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self.token):
                raise RefusedError(
                    401, "invalid_api_key", "the gateway's token is missing or wrong; it is not a provider's key"
                )
            return await handler(request)

        return handle

    def _guarded(self, handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RefusedError as refusal:
                return refused(refusal)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as error:
                # The text of an error may hold what was asked: its kind and place must do.
                place = traceback.extract_tb(error.__traceback__)[-1]
                log.error("%s in %s, line %s", type(error).__name__, place.filename, place.lineno)
                return refused(RefusedError(500, "internal_error", f"the gateway failed ({type(error).__name__})"))

        return handle


def refused(refusal: RefusedError) -> Response:
    """Return a refusal as a response."""
    return JSONResponse(refusal.body, refusal.status, refusal.headers)


async def _nothing_here(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return refused(RefusedError(status, "not_found", "the gateway has nothing at this address, or not by this method"))


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request holds.

    Raises:
        RefusedError: it is too long, or something else.
    """
    parts, size = [], 0
    async for part in request.stream():  # to its end: a client that still writes would not read what it is told
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
    if size > MOST_BYTES:
        raise wrong(f"the body is longer than {MOST_BYTES // 1024 // 1024} MB", code="body_too_large")
    try:
        body = orjson.loads(b"".join(parts))
    except json.JSONDecodeError:
        raise wrong("the body is no JSON") from None
    if not isinstance(body, dict):
        raise wrong("the body wants to be a JSON object")
    return body


def label_of(request: Request) -> Label:
    """Return what a client says that a call is for."""
    return Label(request.headers.get(PROMPT) or "gateway", request.headers.get(SUBJECT) or "")
