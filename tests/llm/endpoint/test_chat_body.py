from typing import Any

import pytest

from llm.catalogue import Entry
from llm.endpoint.chat_body import read_chat
from llm.endpoint.refusals import RefusedError


@pytest.fixture
def entry_of(price):
    """Give an entry at 3 dollars for input and 5 for output, a million tokens."""
    return lambda **more: Entry("m", "http://x/v1", "served", **{"price": price(3.0, 5.0), **more})


def most(entry, **body):
    return read_chat({"messages": [{"role": "user", "content": "hi"}], **body}, entry).most_nano_usd


def test_an_answer_costs_at_the_most_its_limit_times_the_number_of_answers(entry_of):
    entry = entry_of()
    one = most(entry, max_tokens=100)
    assert most(entry, max_tokens=200) - one == 100 * 5000
    assert most(entry, max_completion_tokens=100, max_tokens=1000) == one
    assert most(entry, max_tokens=100, n=3) - one == 2 * 100 * 5000 + len(',"n":3') * 3000


def test_without_a_limit_the_model_s_own_counts(entry_of):
    assert most(entry_of(output_tokens=4000)) - most(entry_of(output_tokens=3000)) == 1000 * 5000
    assert most(entry_of(context_tokens=4000)) - most(entry_of(context_tokens=3000)) == 1000 * 5000


def test_a_byte_is_a_token_at_the_most(entry_of):
    texts = "hi", "hi" + "🐈" * 10
    short, long = (most(entry_of(), max_tokens=1, messages=[{"role": "user", "content": text}]) for text in texts)
    assert long - short == 40 * 3000


def test_where_nobody_knows_a_limit_one_must_be_given(entry_of, price):
    with pytest.raises(RefusedError, match="max_tokens"):
        most(entry_of())
    assert most(entry_of(price=None)) == 0
    assert most(entry_of(price=price(0.0, 0.0))) == 0


def test_the_key_is_of_the_model_and_of_what_is_asked(entry_of):
    entry = entry_of(output_tokens=10)
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
    same = [body, body | {"stream": True, "stream_options": {}, "user": "ann", "metadata": {}, "model": "m"}]
    assert len({read_chat(one, entry).key for one in same}) == 1
    others = [
        read_chat(body | {"temperature": 0}, entry).key,
        read_chat(body | {"max_tokens": 9}, entry).key,
        read_chat(body, Entry("m2", "http://x/v1", "served")).key,
        read_chat(body, Entry("m", "http://x/v1", "served-2")).key,
    ]
    assert len({read_chat(body, entry).key, *others}) == 5
    assert read_chat(body, Entry("m", "http://elsewhere/v1", "served", "KEY")).key == read_chat(body, entry).key


def test_the_order_of_the_keys_of_a_body_does_not_matter(entry_of):
    entry = entry_of(output_tokens=10)
    one = {"messages": [{"role": "user", "content": "hi"}], "temperature": 0, "stop": ["a"]}
    other = {"stop": ["a"], "temperature": 0, "messages": [{"content": "hi", "role": "user"}]}
    assert read_chat(one, entry).key == read_chat(other, entry).key
