"""Unit vectors made of a hash of the text: the same text, the same vector, and no other likeness."""

import math
import struct
from base64 import b64encode
from hashlib import shake_256
from typing import Any

import orjson
from loopback_api import answer_api
from loopback_completions import Tokens, short_id
from loopback_http import Answer, Request, error_answer, json_answer
from loopback_model import Model
from loopback_seen import Attempt


def answer_embeddings(model: Model, request: Request) -> Answer:
    """Answer POST /v1/embeddings."""
    try:
        body = orjson.loads(request.body)
        texts = read_texts(body)
    except ValueError as error:
        return error_answer(400, "invalid_request", str(error))
    identity = short_id(*texts)
    kind = model.decide(identity, "embeddings")
    attempt = model.seen.begin(identity, kind, "embeddings")
    return model.finish(answer_api(model.plan, kind, lambda: _charge(model, body, texts, attempt)), identity, attempt)


def read_texts(body: Any) -> list[str]:
    """Return the texts of a request; tokens given in place of a text are their numbers, written out.

    Raises:
        ValueError: there are none.
    """
    given = body.get("input") if isinstance(body, dict) else None
    if not given:
        raise ValueError("input must not be empty")
    given = [given] if isinstance(given, str) or isinstance(given[0], int) else given
    return [text if isinstance(text, str) else " ".join(map(str, text)) for text in given]


def embed(text: str, dimensions: int) -> list[float]:
    """Return a vector of length 1, up to rounding."""
    drawn = shake_256(text.encode("utf-8", "surrogatepass")).digest(2 * dimensions)
    numbers = [number + 0.5 for number in struct.unpack(f"<{dimensions}h", drawn)]  # none is 0, so no length is
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def embeddings(model: Model, body: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Return the body of a right answer."""
    dimensions = body.get("dimensions") or model.plan.dimensions
    vectors: list[Any] = [embed(text, dimensions) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [b64encode(struct.pack(f"<{dimensions}f", *vector)).decode() for vector in vectors]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    tokens = tokens_of(texts)
    usage = {"prompt_tokens": tokens.prompt, "total_tokens": tokens.prompt}
    return {"object": "list", "data": data, "model": body.get("model", "loopback"), "usage": usage}


def tokens_of(texts: list[str]) -> Tokens:
    """Return what the vectors of some texts cost."""
    return Tokens(prompt=max(1, sum(map(len, texts)) // 4))


def _charge(model: Model, body: dict[str, Any], texts: list[str], attempt: Attempt) -> Answer:
    attempt.tokens, attempt.is_charged, attempt.shows_usage = tokens_of(texts), True, True
    return json_answer(embeddings(model, body, texts))
