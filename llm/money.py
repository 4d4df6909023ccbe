"""What calls cost: prices are US dollars per million tokens, sums are whole billionths of a dollar."""

from llm.attempts import Usage
from llm.catalogue import Price

NANO_A_MILLIONTH = 1000
"""One dollar per million tokens is this many billionths of a dollar a token."""


def cost_of(price: Price | None, usage: Usage, factor: float = 1.0) -> int | None:
    """Return what an attempt cost; None where no price is known or the server did not say what it used."""
    if price is None or usage.prompt is None:
        return None
    cached = min(usage.cached or 0, usage.prompt)
    cached_price = price.input if price.cached_input is None else price.cached_input
    fresh = (usage.prompt - cached) * price.input
    return _nano((fresh + cached * cached_price + (usage.completion or 0) * price.output) * factor)


def most_of(price: Price | None, prompt_tokens: int, completion_tokens: int, factor: float = 1.0) -> int:
    """Return what an attempt costs at the most, 0 where no price is known."""
    if price is None:
        return 0
    return _nano(
        (prompt_tokens * max(price.input, price.cached_input or 0) + completion_tokens * price.output) * factor
    )


def _nano(usd_millionths: float) -> int:
    return -int(-usd_millionths * NANO_A_MILLIONTH // 1)
