import json
from datetime import date

import pytest
from pydantic import BaseModel

from flows.planning.counting import Counting
from llm.catalogue import Entry, Price
from llm.gateway import Model, Outcome, Prompt, Request
from llm.keys import keys_of
from llm.ledger import Ending, Intent, Ledger
from llm.offline import Offline
from llm.served import Served

PROMPT = Prompt("a_stage", "Say how many.")
PRICE = Price(1.0, 4.0, "a drawn list", date(2026, 1, 1))


class Count(BaseModel):
    number: int


def entry(**more):
    return Entry("fable", "http://127.0.0.1:9/v1", "fable-1", **more)


@pytest.fixture
def ledger():
    return Ledger()


def counting(ledger, **more):
    return Counting(Served(entry(**more), None), ledger)


def know(ledger, provider, request, answer):
    """Write an answer down as a build does."""
    key = keys_of(provider, PROMPT, Count)(request)
    ledger.end(ledger.begin(Intent(key, "fable", "a_stage", request.subject)), Ending("ok", answer=answer))


def test_what_the_ledger_knows_is_answered_and_the_rest_is_not(ledger):
    model = counting(ledger)
    requests = [Request(str(number), {"number": number}) for number in range(5)]
    for request in requests[:2]:
        know(ledger, model.provider, request, json.dumps(request.input))

    outcomes = model.ask(PROMPT, requests, Count)

    assert outcomes[:2] == [Outcome("ok", Count(number=0)), Outcome("ok", Count(number=1))]
    assert [outcome.answer for outcome in outcomes[2:]] == [None] * 3
    assert (model.known, model.new) == (2, 3)
    assert ledger.spending().most == 0
    assert ledger.rows().read_all().num_rows == 2


def test_an_answer_that_cannot_be_read_any_more_is_new(ledger):
    model, request = counting(ledger), Request("a", {"number": 1})
    know(ledger, model.provider, request, "many")

    model.ask(PROMPT, [request], Count)

    assert (model.known, model.new) == (0, 1)


def test_what_is_asked_twice_counts_once_however_far_apart(ledger):
    model = counting(ledger)
    requests = [Request(str(number), {"number": number % 300}) for number in range(900)]

    assert len(model.ask(PROMPT, requests, Count)) == 900
    model.ask(PROMPT, requests, Count)

    assert (model.known, model.new) == (0, 300)


def test_tokens_are_those_of_the_messages_and_of_the_schema_that_is_sent(ledger):
    texts = {"system": "Say how many.", "user": '{"text": "' + "a" * 400 + "日" * 50 + '"}'}
    model, told = counting(ledger, answers="json_schema"), counting(ledger, answers="text")
    request = Request("a", json.loads(texts["user"]))

    for each in (model, told):
        each.ask(PROMPT, [request], Count)

    # A token for four letters of English and for one Chinese character.
    system, user = len(texts["system"]) // 4 + 1, (len(texts["user"]) - 50) // 4 + 50 + 1
    schema = {"type": "object", "properties": {"number": {"title": "Number", "type": "integer"}}}
    for each in (model, told):  # as a field of the call, or in the prompt with a sentence about it
        assert each.new_tokens == pytest.approx(system + user + len(json.dumps(schema)) // 4 + 20, abs=20)


def test_the_tokens_of_known_answers_are_told_apart(ledger):
    model = counting(ledger, answers="text")
    short, long = Request("a", {"number": 1}), Request("b", {"number": 1, "text": "a" * 4000})
    know(ledger, model.provider, long, '{"number": 1}')

    model.ask(PROMPT, [short, long], Count)

    assert model.all_tokens - 2 * model.new_tokens == pytest.approx(1000, abs=5)


def test_the_dearest_call_is_the_longest_at_the_price_of_the_longest_answer(ledger):
    model = counting(ledger, answers="text", price=PRICE)
    requests = [Request(str(length), {"text": "a" * length}) for length in (10, 1000, 100)]

    model.ask(PROMPT, requests, Count)

    one = counting(ledger, answers="text", price=PRICE)
    one.ask(PROMPT, requests[1:2], Count)
    assert model.dearest_nano_usd == one.dearest_nano_usd > 8192 * 4000


def test_free_models_are_not_asked_and_know_nothing(ledger):
    model = Counting(Offline(), ledger)

    outcomes = model.ask(PROMPT, [Request("a", {"number": 1})], Count)

    assert [outcome.answer for outcome in outcomes] == [None]
    assert (model.known, model.new) == (0, 1)


def test_it_passes_for_the_model_whose_place_it_takes(ledger):
    model = counting(ledger, context_tokens=100_000)

    assert isinstance(model, Model)
    assert (model.name, model.identity) == ("fable", Model(model.provider, ledger).identity)
    assert model.input_tokens == 100_000 - 4 * 8192
