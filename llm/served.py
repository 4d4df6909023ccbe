"""The provider that calls a model at an address which speaks the OpenAI protocol."""

import json
from collections.abc import Mapping
from typing import Any

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel

from llm.answers import Form
from llm.catalogue import Entry
from llm.errors import ModelError
from llm.gateway import Prompt, Reply, Request, Status

NO_BALANCE = "the account has no balance"
STOPPING = {
    401: "the key is not accepted",
    402: NO_BALANCE,
    403: "access is refused",
    404: "the address or the model is not known there",
}
FINISHED: dict[str, Status] = {"length": "truncated", "content_filter": "filtered"}


class Served:
    """A model of the catalogue, called over HTTP with a strict JSON schema."""

    is_paid = True

    def __init__(self, entry: Entry, key: str | None, concurrency: int = 16) -> None:
        """Name the model, and the key that the server wants.

        Raises:
            ModelError: the key holds what no header can; the errors of HTTP would show it.
        """
        key = key.strip() if key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ModelError(f"the key of {entry.name} holds characters that no key has; copy it again")
        self.name = entry.name
        self.entry = entry
        self.key = key
        self.concurrency = concurrency
        self.client: AsyncOpenAI | None = None
        self.identity: Mapping[str, str] = {"model": entry.name, "served_as": entry.served_as}

    async def reply(self, prompt: Prompt, request: Request, form: type[Form]) -> Reply:
        """Call the model once; what may pass by itself (429, 5xx, time-outs) is tried again by the client.

        Raises:
            ModelError: nobody answers at the address, or the account cannot be used.
        """
        if self.client is None:
            self.client = AsyncOpenAI(base_url=self.entry.url, api_key=self.key or "none", max_retries=4, timeout=600)
        try:
            return _reply_of(await self.client.chat.completions.create(**self._call(prompt, request, form)))
        except ValueError:  # the body is no JSON; the error would show it
            return Reply("empty", detail="no completion")
        except openai.RateLimitError as error:
            if error.code == "insufficient_quota":
                raise ModelError(f"{self.name} at {self.entry.url}: {NO_BALANCE} (429)") from None
            return Reply("rate_limited")
        except openai.APITimeoutError:
            return Reply("timeout")
        except openai.APIConnectionError as error:
            raise ModelError(f"{self.name} cannot be reached at {self.entry.url}: {_cause(error)}") from None
        except openai.APIStatusError as error:
            if reason := STOPPING.get(error.status_code):
                raise ModelError(f"{self.name} at {self.entry.url}: {reason} ({error.status_code})") from None
            is_servers = error.status_code >= 500
            return Reply("server_error" if is_servers else "http_error", detail=str(error.status_code))

    async def close(self) -> None:
        """Let go of the connections: a client belongs to one event loop."""
        if self.client is not None:
            await self.client.close()
            self.client = None

    def _call(self, prompt: Prompt, request: Request, form: type[Form]) -> dict[str, Any]:
        return {
            "model": self.entry.served_as,
            "messages": [
                {"role": "system", "content": prompt.text},
                {"role": "user", "content": json.dumps(request.input, ensure_ascii=False)},
            ],
            "response_format": {"type": "json_schema", "json_schema": strict_schema(form)},
        }


def strict_schema(form: type[BaseModel]) -> dict[str, Any]:
    """Return a form as the strict JSON schema that servers constrain answers to."""
    function = openai.pydantic_function_tool(form)["function"]
    return {"name": form.__name__, "strict": True, "schema": function["parameters"]}


def _reply_of(completion: Any) -> Reply:
    # The client does not check what it was sent: a page in HTML is a text here.
    if not getattr(completion, "choices", None) or not completion.choices[0].message:
        return Reply("empty", detail="no completion")
    choice, usage = completion.choices[0], completion.usage
    message = choice.message
    status: Status = "refused" if message.refusal else FINISHED.get(choice.finish_reason, "ok")
    if status == "ok" and not message.content and getattr(message, "reasoning_content", None):
        status = "reasoning_only"
    return Reply(
        status,
        (message.content or "").encode("utf-8", "replace").decode(),  # no lone surrogates beyond this border
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
    )


def _cause(error: Exception) -> str:
    cause = error.__cause__
    return str(cause) if cause and str(cause) else "no answer"
