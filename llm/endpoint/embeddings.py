"""Embeddings: texts whose vector is known are not sent again, whatever others they come with."""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.completions import usage_of
from llm.endpoint.refusals import refusal_of, wrong
from llm.endpoint.under_way import UnderWay
from llm.endpoint.upstreams import Label, Upstream
from llm.endpoint.vectors import keep_vectors, known_vectors, numbers_of, read_vectors
from llm.keys import KEY_SCHEME
from llm.ledger import Ledger
from llm.money import most_of
from llm.tokens import MESSAGE_TOKENS, most_tokens

OWN = ("model", "input", "encoding_format", "user")
"""What is said anew to the server, or changes no vector."""
FORMATS = ("float", "base64")

Text = str | list[int]
"""What is embedded: a text, or its tokens."""


@dataclass(frozen=True)
class Wanted:
    """Texts by key, and the rest of the request, such as dimensions."""

    texts: Mapping[str, Text]
    more: Mapping[str, Any]
    label: Label


class Embeddings:
    """Answers requests for embeddings: each text from the ledger, or all that are not there by one call."""

    def __init__(self, known: Ledger, under_way: UnderWay) -> None:
        self.known = known
        self.under_way = under_way

    async def answer(self, upstream: Upstream, body: Mapping[str, Any], label: Label) -> tuple[dict[str, Any], bool]:
        """Return the vectors in the order of the texts, and whether all were there without asking.

        The usage is what was used for this request: known texts use nothing.

        Raises:
            RefusedError: the request is not right, or there is no answer.
        """
        entry = upstream.entry
        texts, encoding = read_texts(body.get("input")), body.get("encoding_format") or "float"
        if encoding not in FORMATS:
            raise wrong("encoding_format: wants float or base64", "encoding_format")
        more = {name: value for name, value in body.items() if name not in OWN and name not in entry.refuses}
        keys = [key_of(entry, more, text) for text in texts]
        vectors, tokens = await self._vectors(upstream, Wanted(dict(zip(keys, texts, strict=True)), more, label))
        data = [
            {"object": "embedding", "index": place, "embedding": written(vectors[key], encoding)}
            for place, key in enumerate(keys)
        ]
        usage = {"prompt_tokens": tokens or 0, "total_tokens": tokens or 0}
        return {"object": "list", "data": data, "model": entry.name, "usage": usage}, tokens is None

    async def _vectors(self, upstream: Upstream, wanted: Wanted) -> tuple[dict[str, bytes], int | None]:
        """Return the vector of each key, and the tokens used for that; None where nothing was asked for."""
        tokens = None
        while missing := wanted.texts.keys() - (found := known_vectors(self.known, list(wanted.texts))).keys():
            others = {task for key in missing if (task := self.under_way.tasks.get(key))}
            mine = {key: text for key, text in wanted.texts.items() if key in missing - self.under_way.tasks.keys()}
            if mine:
                task = self.under_way.start(mine, self._ask(upstream, replace(wanted, texts=mine)))
                reply: Reply = await self.under_way.result(task)
                if reply.status != "ok":
                    raise refusal_of(upstream.entry.name, reply)
                tokens = (tokens or 0) + (reply.usage.prompt or 0)
            if others:  # what they leave without a vector is asked for then
                await asyncio.wait(others)
        return found, tokens

    async def _ask(self, upstream: Upstream, wanted: Wanted) -> Reply:
        """Ask for all texts at once, in the exact form; in decimals where the server does not know that."""
        if not upstream.takes_base64:
            return await self._call(upstream, wanted, "float")
        reply = await self._call(upstream, wanted, "base64")
        if reply.status != "http_error":
            return reply
        again = await self._call(upstream, wanted, "float")
        upstream.takes_base64 = again.status != "ok"
        return again

    async def _call(self, upstream: Upstream, wanted: Wanted, encoding: str) -> Reply:
        entry, texts = upstream.entry, list(wanted.texts.values())
        body = {**wanted.more, "model": entry.served_as, "input": texts, "encoding_format": encoding}

        async def send() -> Reply:
            answer = await upstream.wire.post("/embeddings", body)
            if isinstance(answer, Reply):
                return answer
            usage, vectors = usage_of(answer), read_vectors(answer, list(wanted.texts))
            if vectors is None:
                return Reply("empty", detail="no vectors", usage=usage)
            await upstream.meter.scribe.write(lambda: keep_vectors(upstream.meter.ledger, vectors))
            return Reply("ok", usage=usage)

        key = hashlib.sha256("".join(wanted.texts).encode()).hexdigest()
        most = most_of(entry.price, sum(map(_most_tokens, texts)), 0)
        return await upstream.call(key, wanted.label, most, send)


def read_texts(given: Any) -> list[Text]:
    """Return the texts of a request; a single one is a list of one.

    Raises:
        RefusedError: there is none, or not all are texts, or not all are lists of tokens.
    """
    texts = [given] if isinstance(given, str) or _is_tokens(given) else given
    is_list = isinstance(texts, list) and bool(texts)
    if not is_list or not (all(isinstance(text, str) for text in texts) or all(map(_is_tokens, texts))):
        raise wrong("input: wants a text, a list of texts, a list of tokens or a list of such lists", "input")
    return list(texts)


def _is_tokens(given: object) -> bool:
    return isinstance(given, list) and bool(given) and all(type(token) is int for token in given)


def _most_tokens(text: Text) -> int:
    return most_tokens(text) if isinstance(text, str) else len(text) + MESSAGE_TOKENS


def key_of(entry: Entry, more: Mapping[str, Any], text: Text) -> str:
    """Return what identifies the vector of one text; `more` is the rest of the request, such as dimensions."""
    parts = [KEY_SCHEME, "embedding", {"model": entry.name, "served_as": entry.served_as}, more, text]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def written(vector: bytes, encoding: str) -> str | list[float]:
    """Return a vector as the protocol writes it; read as float32, both forms are the same bit by bit."""
    return base64.b64encode(vector).decode() if encoding == "base64" else numbers_of(vector)
