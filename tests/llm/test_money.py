from datetime import date
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm.attempts import Usage
from llm.catalogue import Price
from llm.money import cost_of, most_of

DOLLARS = st.decimals(0, 200, places=4).map(float)
TOKENS = st.integers(0, 2_000_000)
FACTORS = st.sampled_from([1.0, 0.5, 0.25, 0.1])


def price(input, output, cached_input=None):
    return Price(input=input, output=output, cached_input=cached_input, source="a page", date=date(2026, 11, 1))


PRICES = st.builds(price, DOLLARS, DOLLARS, st.none() | DOLLARS)


def exact(number):
    """Return the decimal number that a person wrote down, exactly."""
    return Fraction(str(number))


def nano_usd(price, prompt, cached, completion, factor=1.0):
    """Work it out on paper: dollars per million tokens, in billionths, never rounded down."""
    of_cached = price.input if price.cached_input is None else price.cached_input
    usd = (prompt - cached) * exact(price.input) + cached * exact(of_cached) + completion * exact(price.output)
    return ceil(usd * exact(factor) / 1_000_000 * 1_000_000_000)


def test_a_million_tokens_cost_what_the_price_says():
    million = Usage(prompt=1_000_000, completion=1_000_000)
    assert cost_of(price(0.28, 0.42), million) == 700_000_000
    assert cost_of(price(0.28, 0.42), million, 0.5) == 350_000_000


def test_cached_tokens_are_among_those_of_the_prompt_and_cost_their_own_price():
    used = Usage(prompt=1000, cached=400, completion=0)
    assert cost_of(price(1.0, 0.0, cached_input=0.25), used) == 600_000 + 100_000
    assert cost_of(price(1.0, 0.0), used) == 1_000_000


def test_thoughts_are_among_the_tokens_of_the_completion_and_not_paid_twice():
    assert cost_of(price(0.0, 2.0), Usage(prompt=1, completion=10, reasoning=9)) == 20_000


def test_more_cached_tokens_than_tokens_are_not_believed():
    assert cost_of(price(1.0, 0.0, cached_input=0.1), Usage(prompt=10, cached=1000, completion=0)) == 1000


@pytest.mark.parametrize(
    ("asked", "usage"),
    [(None, Usage(1, 0, 1, 0)), (price(1.0, 1.0), Usage()), (price(1.0, 1.0), Usage(completion=5))],
    ids=["no price", "no usage", "no tokens of the prompt"],
)
def test_what_nobody_knows_costs_no_number(asked, usage):
    assert cost_of(asked, usage) is None


def test_what_has_no_price_holds_no_money():
    assert most_of(None, 1000, 1000) == 0


@given(PRICES, TOKENS, TOKENS, TOKENS, FACTORS)
@example(price(0.1, 0.2), 3, 0, 0, 1.0)
@example(price(0.07, 0.0), 100, 0, 0, 0.1)
def test_a_cost_is_that_of_exact_arithmetic_to_the_billionth(price, prompt, cached, completion, factor):
    cached = min(cached, prompt)
    found = cost_of(price, Usage(prompt=prompt, cached=cached, completion=completion), factor)
    assert abs(found - nano_usd(price, prompt, cached, completion, factor)) <= 1


@given(PRICES, TOKENS, TOKENS, TOKENS, FACTORS, TOKENS, TOKENS)
@example(price(0.0301, 0.0, 0.0301), 3, 1, 0, 1.0, 0, 0)
def test_no_cost_passes_what_was_held_for_it(price, prompt, cached, completion, factor, more_prompt, more_completion):
    held = most_of(price, prompt + more_prompt, completion + more_completion, factor)
    assert cost_of(price, Usage(prompt=prompt, cached=cached, completion=completion), factor) <= held
