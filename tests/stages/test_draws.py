import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from stages.draws import digest, share


def test_a_digest_is_the_sha_256_of_its_parts_in_their_order():
    assert digest("a", 1, None) == hashlib.sha256(b"a|1|None").hexdigest()
    assert digest("a", "b") != digest("b", "a")


@given(st.text())
def test_any_text_can_be_drawn_with(text):
    assert 0 <= share(text) < 1


def test_shares_are_uniform_over_ids():
    assert kstest([share("split", f"g{number}") for number in range(2000)], "uniform").pvalue > 0.01


def test_draws_for_different_ends_are_independent():
    both = sum(share("bank", n) < 0.5 and share("split", n) < 0.5 for n in range(4000)) / 4000

    assert both == pytest.approx(0.25, abs=0.03)
