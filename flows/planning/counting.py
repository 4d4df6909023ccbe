"""A model that asks nobody: it gives the answers that the ledger has, and counts what it would have to ask for."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from llm.answering import KNOWN_AT_ONCE
from llm.answers import Form
from llm.completions import messages_of
from llm.gateway import Model, Outcome, Prompt, Provider, Question, Reply, Request
from llm.keys import keys_of
from llm.questions import outcome_of
from llm.served import Served
from llm.tokens import expected_tokens

Item = TypeVar("Item")


@dataclass
class Counting(Model):
    """Stands in for a model in its stage; what is not known is not answered. A request asked twice counts once."""

    known: int = 0
    new: int = 0
    new_tokens: int = 0
    """Tokens of the prompts that would be sent."""
    all_tokens: int = 0
    """Tokens of those whose answers are known, too."""
    dearest_nano_usd: int = 0
    """What the dearest call can cost at the most."""
    seen: set[str] = field(default_factory=set)

    def each(
        self,
        prompt: Prompt,
        items: Iterable[Item],
        request_of: Callable[[Item], Request],
        form: type[Form],
        total: int,
    ) -> Iterator[tuple[Item, Outcome[Form]]]:
        """Give the known answer of each item, or the outcome that there is none."""
        key_of, left = keys_of(self.provider, prompt, form), iter(items)
        while part := list(islice(left, KNOWN_AT_ONCE)):
            asked = [(item, request, key_of(request)) for item, request in ((one, request_of(one)) for one in part)]
            known = self._known([key for *_, key in asked], form)
            for item, request, key in asked:
                if key not in self.seen:
                    self.seen.add(key)
                    self._count(Question(prompt, request, form), is_known=key in known)
                yield item, known.get(key, Outcome("not_recorded"))

    def _known(self, keys: Sequence[str], form: type[Form]) -> dict[str, Outcome[Form]]:
        if not self.provider.terms.is_paid:
            return {}
        read = {key: outcome_of(Reply("ok", text), form) for key, text in self.ledger.answers(keys).items()}
        return {key: outcome for key, outcome in read.items() if outcome.answer is not None}

    def _count(self, question: Question[Any], *, is_known: bool) -> None:
        tokens = prompt_tokens(self.provider, question)
        self.all_tokens += tokens
        if is_known:
            self.known += 1
        else:
            self.new += 1
            self.new_tokens += tokens
            self.dearest_nano_usd = max(self.dearest_nano_usd, self.provider.most_nano_usd(question))


def prompt_tokens(provider: Provider, question: Question[Any]) -> int:
    """Estimate the tokens of what would be sent, a form for the answer included."""
    if not isinstance(provider, Served):
        return _tokens(messages_of(question.prompt, question.request))
    body = provider.body(question)
    form = body.get("response_format")
    return _tokens(body["messages"]) + (expected_tokens(json.dumps(form)) if form else 0)


def _tokens(messages: Sequence[dict[str, Any]]) -> int:
    return sum(expected_tokens(message["content"]) for message in messages)
