"""What the calls of a plan would cost, and whether the budget suffices for that."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flows.planning.forecast import Calls, Sizes
from flows.planning.usual import History, Spread
from llm.attempts import Usage
from llm.ledger import NANO, Spending
from llm.money import cost_of
from llm.served import Served


@dataclass(frozen=True)
class Estimate:
    """The calls of one stage, the tokens of their answers, and their price in US dollars where one is known.

    The high price is that of answers all as long as they may be.
    """

    calls: Calls
    completion: Spread
    usd: Spread | None
    reserve_usd: float = 0.0
    """What a single call can cost at the most: it is held back while the call is under way."""
    is_measured_here: bool = False


def estimate_of(calls: Calls, history: History) -> Estimate:
    """Return what the new calls of a stage would cost."""
    usual, most = history.of(calls.provider.name, calls.stage), calls.new * calls.rounds
    usually = usual.completion
    completion = Spread(usually.low * calls.new, usually.expected * calls.new, usually.high * most)
    provider = calls.provider
    if calls.is_free:
        return Estimate(calls, Spread(0, 0, 0), Spread(0, 0, 0))
    if not isinstance(provider, Served) or provider.terms.price is None:
        return Estimate(calls, completion, None, is_measured_here=usual.is_measured_here)
    longest = most * provider.limits[0]
    low, expected = (_usd(provider, calls.prompt_tokens, tokens) for tokens in (completion.low, completion.expected))
    high = _usd(provider, calls.prompt_tokens * calls.rounds, longest)
    reserve = calls.dearest_nano_usd / NANO or _usd(provider, usual.prompt, provider.limits[0])
    return Estimate(calls, completion, Spread(low, expected, high), reserve, usual.is_measured_here)


def _usd(provider: Served, prompt_tokens: float, completion_tokens: float) -> float:
    usage = Usage(prompt=round(prompt_tokens), completion=round(completion_tokens))
    return (cost_of(provider.terms.price, usage, provider.factor) or 0) / NANO


def total_of(spreads: Sequence[Spread]) -> Spread:
    """Add up what is estimated apart."""

    def add(part: Callable[[Spread], float]) -> float:
        return sum(map(part, spreads))

    return Spread(add(lambda one: one.low), add(lambda one: one.expected), add(lambda one: one.high))


def verdict_of(estimates: Sequence[Estimate], spent: Spending, most_usd: float | None, sizes: Sizes) -> str:
    """Say whether `most_usd`, which bounds all that a home ever spends, suffices; a sentence without its subject."""
    paid = [one for one in estimates if one.calls.new and not one.calls.is_free]
    if most_usd is None:
        return ": nothing stops a build that costs more"
    if unpriced := sorted({one.calls.provider.name for one in paid if one.usd is None}):
        return f" makes a build refuse {', '.join(unpriced)}: the catalogue has no price"
    if not sizes.is_known and any(one.calls.is_forecast for one in paid):
        return " suffices or not: nobody can tell before the dialogues are counted"
    usd = total_of([one.usd for one in paid if one.usd])
    left, reserve = most_usd - spent.most / NANO, max((one.reserve_usd for one in paid), default=0.0)
    if left >= usd.high + reserve:
        return " suffices"
    if left >= usd.expected + reserve:
        return " suffices for what is expected, not for the high price"
    needed = math.ceil(100 * (usd.expected + reserve + spent.most / NANO)) / 100
    return f" does not suffice: what is expected needs {needed:,.2f} or more"
