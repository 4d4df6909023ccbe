"""Chat completions: how a question is put to a server, and what its answer comes to."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel

from llm.attempts import Reply, Status, Usage
from llm.catalogue import Entry
from llm.questions import Prompt, Question, Repair, Request

REPAIR = (Path(__file__).parent / "repair.prompt.md").read_text(encoding="utf-8").strip()
SCHEMA = (Path(__file__).parent / "schema.prompt.md").read_text(encoding="utf-8").strip()
WHOLE = ("stop", "tool_calls", "function_call", "eos", "end_turn", "stop_sequence")
"""How an answer ends that is all there."""
FINISHED: Mapping[str, Status] = {"length": "truncated", "content_filter": "filtered"}
MOST_TOKENS = 10**9
"""A server that says more has not counted."""
MARKS = re.compile(r"<[|｜]|[|｜]>|</?s>|</?(?:bos|eos|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>")
"""What chat formats are made of: some servers take it for their own wherever it stands."""

Messages = list[dict[str, Any]]


def messages_of(prompt: Prompt, request: Request, repair: Repair | None = None, schema: str | None = None) -> Messages:
    """Return a request as chat messages: the prompt, then the input as JSON, which no text in it can leave.

    `schema` is told to models whose server takes none.
    """
    told = f"{prompt.text}\n\n{SCHEMA}\n{schema}" if schema else prompt.text
    shown = [{"role": "system", "content": told}, {"role": "user", "content": quoted(request.input)}]
    if repair is None:
        return shown
    again = REPAIR.format(error=repair.error)
    return [*shown, {"role": "assistant", "content": unmarked(repair.answer)}, {"role": "user", "content": again}]


def quoted(input: Mapping[str, Any]) -> str:
    """Return an input as JSON in which the marks of chat formats are escaped; read as JSON, it is the same.

    But for lone surrogates, which nothing can send: each becomes a question mark.
    """
    text = json.dumps(input, ensure_ascii=False).encode("utf-8", "replace").decode()
    return unmarked(text)


def unmarked(text: str) -> str:
    """Return a text with the marks of chat formats escaped as JSON has it."""
    return MARKS.sub(lambda mark: _escaped(mark.group()), text)


def _escaped(mark: str) -> str:
    return f"\\u{ord(mark[0]):04x}{mark[1:]}"


@cache
def strict_schema(form: type[BaseModel]) -> dict[str, Any]:
    """Return a form as the strict JSON schema that servers constrain answers to."""
    function = openai.pydantic_function_tool(form)["function"]
    return {"name": form.__name__, "strict": True, "schema": function["parameters"]}


def is_told_schema(entry: Entry) -> bool:
    """Say whether a model reads the schema in its prompt, since its server does not hold it to one."""
    return entry.answers in ("json_object", "text")


def body_of(
    entry: Entry, question: Question[Any], sampling: Mapping[str, Any], most_tokens: int | None
) -> dict[str, Any]:
    """Return a question as the body of a call."""
    strict = strict_schema(question.form)  # type: ignore[arg-type] # a class is hashable
    schema = json.dumps(strict["schema"]) if is_told_schema(entry) else None
    body: dict[str, Any] = {
        "model": entry.served_as,
        "messages": messages_of(question.prompt, question.request, question.repair, schema),
        **sampling,
    }
    if most_tokens is not None:
        body[entry.limit_parameter] = most_tokens
    if entry.answers == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": strict}
    elif entry.answers == "json_object_schema":
        body["response_format"] = {"type": "json_object", "schema": strict["schema"]}
    elif entry.answers == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def reply_of(completion: Mapping[str, Any], reasoning_fields: tuple[str, ...] = ()) -> Reply:
    """Read a completion as a server sent it; nothing in it is trusted to be there or to be of its type."""
    usage = usage_of(completion)
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply("empty", detail="no completion", usage=usage)
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    status: Status = "refused" if message.get("refusal") else status_of_end(choice.get("finish_reason"))
    if status == "ok" and not text.strip() and any(message.get(field) for field in reasoning_fields):
        status = "reasoning_only"
    # No lone surrogates beyond this border.
    return Reply(status, text.encode("utf-8", "replace").decode(), usage=usage)


def status_of_end(finish_reason: object) -> Status:
    """Return what a finish reason means; one that nobody knows may be that of an answer which was broken off.

    A server that gives none is believed: whether the answer is whole is then told by its form alone.
    """
    end = str(finish_reason).lower()
    return "ok" if finish_reason is None or end in WHOLE else FINISHED.get(end, "server_error")


def usage_of(answer: Mapping[str, Any]) -> Usage:
    """Read what a server says it used: numbers of tokens, None where it does not say."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        prompt=_count(usage, "prompt_tokens"),
        cached=_count(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        completion=_count(usage, "completion_tokens"),
        reasoning=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(counts: object, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, dict) else None
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None
