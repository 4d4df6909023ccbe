"""What the model behind the loopback server would say: the reading of a request, the responders, the completion."""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson
from loopback_filler import fill
from loopback_plan import Plan

CHARACTERS_A_TOKEN = 4


class Tokens(NamedTuple):
    """What a completion costs; reasoning tokens are part of the completion's."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0


@dataclass(slots=True)
class Call:
    """A request for a completion: who it is about, the first user message, and what it costs."""

    body: dict[str, Any]
    identity: str
    said: str
    prompt_tokens: int
    number: Any = None

    @property
    def most_tokens(self) -> int | None:
        """The tokens that the answer may have, if the request says."""
        most = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        return most if isinstance(most, int) else None

    @property
    def schema(self) -> Any:
        """The JSON schema that the answer must fit, if the request says."""
        return ((self.body.get("response_format") or {}).get("json_schema") or {}).get("schema")

    @property
    def tool(self) -> dict[str, Any] | None:
        """The function that must be called, if one must be: the named one, or the first."""
        tools, choice = self.body.get("tools"), self.body.get("tool_choice")
        if not tools or not (choice == "required" or isinstance(choice, dict)):
            return None
        name = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
        functions: list[dict[str, Any]] = [tool["function"] for tool in tools]
        return next((function for function in functions if function["name"] == name), functions[0])


def read_call(body: Any, identity_key: str) -> Call:
    """Read the body of a request for a completion.

    Raises:
        ValueError: it has no messages.
    """
    messages = body.get("messages") if isinstance(body, dict) else None
    if not messages or not isinstance(messages, list):
        raise ValueError("messages must be a list that is not empty")
    texts = [_text(message.get("content")) for message in messages]
    first = next((place for place, message in enumerate(messages) if message.get("role") == "user"), 0)
    number = _number(texts[first], identity_key)
    identity = str(number) if number is not None else short_id(*texts[: first + 1])
    return Call(body, identity, texts[first], _tokens(sum(map(len, texts))), number)


def short_id(*texts: str) -> str:
    """Return twelve hex digits that stand for the texts."""
    return blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def respond(plan: Plan, call: Call) -> str:
    """Return the right answer to a call."""
    if tool := call.tool:
        value = fill(tool.get("parameters", {}))
        if call.number is not None and plan.identity_key in value:
            value[plan.identity_key] = call.number
        return orjson.dumps(value).decode()
    if plan.responder == "number" and call.number is not None:
        return orjson.dumps({plan.identity_key: call.number}).decode()
    if plan.responder == "echo" or not call.schema:
        return call.said
    return orjson.dumps(fill(call.schema)).decode()


def cost(plan: Plan, call: Call, text: str) -> Tokens:
    """Return what an answer of this text costs; it never passes the limit of the request."""
    completion = _tokens(len(text)) + plan.reasoning_tokens
    if call.most_tokens:
        completion = min(completion, call.most_tokens)
    cached = int(call.prompt_tokens * plan.cached_share)
    return Tokens(call.prompt_tokens, cached, completion, min(plan.reasoning_tokens, completion))


def within(tokens: Tokens, text: str) -> str:
    """Return as much of a text as its tokens pay for."""
    room = (tokens.completion - tokens.reasoning) * CHARACTERS_A_TOKEN
    return text if len(text) < room + CHARACTERS_A_TOKEN else text[:room]


def completion(
    plan: Plan, call: Call, tokens: Tokens, message: dict[str, Any], finish_reason: str = "stop"
) -> dict[str, Any]:
    """Return a completion with this message, in the form of the protocol."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    found = {
        "id": f"chatcmpl-{call.identity}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": call.body.get("model", "loopback"),
        "choices": [choice],
    }
    return found | ({} if plan.usage == "none" else {"usage": _usage(plan, tokens)})


def message_of(call: Call, text: str | None, **more: Any) -> dict[str, Any]:
    """Return the message that says a text, as the arguments of a tool where one must be called."""
    message = {"role": "assistant", "content": text, "refusal": None, **more}
    if text and (tool := call.tool):
        function = {"name": tool["name"], "arguments": text}
        called = {"id": f"call_{call.identity}", "type": "function", "function": function}
        message |= {"content": None, "tool_calls": [called]}
    return message


def _usage(plan: Plan, tokens: Tokens) -> dict[str, Any]:
    prompt, cached, written, reasoning = tokens
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
    }
    if plan.usage == "deepseek":
        usage |= {"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": prompt - cached}
    if plan.usage == "full":
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if plan.usage != "bare":
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def _tokens(characters: int) -> int:
    return max(1, characters // CHARACTERS_A_TOKEN)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content)
    return content or ""


def _number(text: str, key: str) -> Any:
    """Return what the input's JSON has under the key, also where prose stands around the JSON."""
    try:
        value = orjson.loads(text)
        return value.get(key) if isinstance(value, dict) else None
    except ValueError:
        found = re.search(rf'"{re.escape(key)}"\s*:\s*(-?\d+|"[^"\\]*")', text)
        return orjson.loads(found[1]) if found else None
