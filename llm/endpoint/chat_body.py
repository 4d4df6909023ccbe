"""The body of a request for a chat completion: what is passed on, what identifies it, and what it costs at the most."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm.catalogue import Entry
from llm.endpoint.refusals import wrong
from llm.keys import KEY_SCHEME
from llm.money import most_of
from llm.tokens import MESSAGE_TOKENS

LIMITS = ("max_completion_tokens", "max_tokens")
OWN = ("model", "stream", "stream_options", *LIMITS)
"""What the gateway answers for itself, or names anew."""
UNASKED = ("user", "metadata")
"""What is passed on, but changes no answer."""
UNMETERED = (
    *("audio", "enable_search", "modalities", "models", "plugins", "prediction", "search_parameters", "service_tier"),
    "web_search_options",
)
"""What makes a call cost something that neither its bytes nor the price of the model tell."""
TOOLS_TOKENS = 1000
"""What servers put around the tools of a request."""

METERED_TOOLS = ("function", "custom")
"""Tools of the client's own; those that a server runs it may charge for."""

Count = Annotated[int, Field(ge=1, le=10_000_000)]


class Fields(BaseModel):
    """What the gateway itself reads of a request; the rest is for the model's server to judge."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)

    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    n: Annotated[int, Field(ge=1, le=128)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens of each answer, under either of its names."""
        return self.max_completion_tokens or self.max_tokens


@dataclass(frozen=True)
class Chat:
    """A request as it is passed on; `key` is all that its answer depends on."""

    sent: dict[str, Any]
    key: str
    most_nano_usd: int


def read_chat(body: Mapping[str, Any], entry: Entry) -> Chat:
    """Read the body of a request; what the model's server refuses is left out of what is sent.

    Raises:
        RefusedError: it is not of the protocol, or nobody could tell beforehand what it costs at the most.
    """
    try:
        fields = Fields.model_validate(body)
    except ValidationError as error:
        one = error.errors(include_input=False, include_url=False)[0]
        param = ".".join(map(str, one["loc"]))
        raise wrong(f"{param}: {one['msg']}", param) from None
    sent = {name: value for name, value in body.items() if name not in OWN and name not in entry.refuses}
    _check_metered(sent)
    asked = {name: value for name, value in body.items() if name not in OWN and name not in UNASKED}
    limit: dict[str, Any] = {} if fields.limit is None else {entry.limit_parameter: fields.limit}
    parts = [KEY_SCHEME, "chat", {"model": entry.name, "served_as": entry.served_as}, fields.limit, asked]
    key = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    sent = {"model": entry.served_as, **sent, **limit}
    return Chat(sent, key, _most_nano_usd(entry, sent, fields))


def _check_metered(sent: Mapping[str, Any]) -> None:
    for name in UNMETERED:
        if sent.get(name) is not None:
            raise wrong(f"{name}: not served, since its cost cannot be told beforehand", name, "unsupported_parameter")
    tools = sent.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict) or tool.get("type") not in METERED_TOOLS:
            raise wrong("only tools of the client's own are served", "tools", "unsupported_content")
    for place, message in enumerate(sent["messages"]):
        parts = message.get("content")
        for part in parts if isinstance(parts, list) else ():
            if not isinstance(part, dict) or part.get("type") not in ("text", "refusal"):
                raise wrong("only text is served", f"messages.{place}.content", "unsupported_content")


def _most_nano_usd(entry: Entry, sent: Mapping[str, Any], fields: Fields) -> int:
    """Return what the answers cost at the most: no request has more tokens than bytes."""
    limit = fields.limit or entry.output_tokens or entry.context_tokens
    if limit is None and entry.price and entry.price.output:
        raise wrong("max_tokens: is needed, since the catalogue knows no limit of the model", "max_tokens")
    around = MESSAGE_TOKENS * (len(fields.messages) + 1) + (TOOLS_TOKENS if sent.get("tools") else 0)
    return most_of(entry.price, len(orjson.dumps(sent)) + around, (limit or 0) * (fields.n or 1))
