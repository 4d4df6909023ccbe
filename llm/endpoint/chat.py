"""Chat completions: each out of the ledger, with those who ask the same just now, or from the model's server."""

import json
from collections.abc import Mapping
from typing import Any

from llm.attempts import Reply, Status
from llm.catalogue import Entry
from llm.completions import FINISHED, WHOLE, usage_of
from llm.endpoint.chat_body import Chat, read_chat
from llm.endpoint.refusals import refusal_of
from llm.endpoint.under_way import UnderWay
from llm.endpoint.upstreams import Label, Upstream
from llm.ledger import Ledger


class Completions:
    """Answers requests for chat completions."""

    def __init__(self, known: Ledger, under_way: UnderWay) -> None:
        self.known = known
        self.under_way = under_way

    async def answer(self, upstream: Upstream, body: dict[str, Any], label: Label) -> tuple[str, bool]:
        """Return a completion as JSON, and whether it was there without asking.

        Raises:
            RefusedError: the request is not right, or there is no answer.
        """
        chat = read_chat(body, upstream.entry)
        if found := self.known.answers([chat.key]):
            return found[chat.key], True
        task = self.under_way.tasks.get(chat.key)
        is_shared = task is not None
        task = task or self.under_way.start([chat.key], self._ask(upstream, chat, label))
        reply: Reply = await self.under_way.result(task)
        if not reply.text:
            raise refusal_of(upstream.entry.name, reply)
        return reply.text, is_shared

    async def _ask(self, upstream: Upstream, chat: Chat, label: Label) -> Reply:
        entry = upstream.entry

        async def send() -> Reply:
            answer = await upstream.wire.post("/chat/completions", chat.sent)
            return answer if isinstance(answer, Reply) else reply_of(answer, entry)

        return await upstream.call(chat.key, label, chat.most_nano_usd, send)


def reply_of(completion: dict[str, Any], entry: Entry) -> Reply:
    """Read a completion; the text of the reply is all of it, under the model's name in the catalogue."""
    usage = usage_of(completion)
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not all(map(_has_message, choices)):
        return Reply("empty", detail="no completion", usage=usage)
    ends = [_status_of(choice, entry.reasoning_fields) for choice in choices]
    status = next((end for end in ends if end != "ok"), ends[0])
    return Reply(status, json.dumps(completion | {"model": entry.name}), usage=usage)


def _has_message(choice: object) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("message"), dict)


def _status_of(choice: Mapping[str, Any], reasoning_fields: tuple[str, ...]) -> Status:
    message, finish_reason = choice["message"], str(choice.get("finish_reason")).lower()
    if message.get("refusal"):
        return "refused"
    if finish_reason not in WHOLE:
        return FINISHED.get(finish_reason, "truncated")
    content = message.get("content")
    if message.get("tool_calls") or message.get("function_call") or (content.strip() if _is_text(content) else content):
        return "ok"
    return "reasoning_only" if any(message.get(field) for field in reasoning_fields) else "empty"


def _is_text(content: object) -> bool:
    return isinstance(content, str)
