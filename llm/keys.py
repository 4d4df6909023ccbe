"""What identifies a call, so that nobody pays for it twice."""

import hashlib
import json
from collections.abc import Callable

import orjson
from pydantic import BaseModel

from llm.questions import Prompt, Provider, Request

KEY_SCHEME = 2
"""Counts up when the same parts begin to give other keys; answers under older ones are not found any more."""


def keys_of(provider: Provider, prompt: Prompt, form: type[BaseModel]) -> Callable[[Request], str]:
    """Return what identifies a call by all that its answer depends on, and by nothing else.

    That is the provider's identity (for a served model its name and how it samples), the prompt, the form of the
    answer and the input.
    """
    parts = [KEY_SCHEME, dict(provider.identity), prompt.name, prompt.text, form.model_json_schema()]
    same = hashlib.sha256(_canonical(parts))

    def key_of(request: Request) -> str:
        digest = same.copy()
        digest.update(_canonical(request.input))
        return digest.hexdigest()

    return key_of


def _canonical(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate, or a number of more than 64 bits
        return json.dumps(value, sort_keys=True).encode()
