import base64
import json
import struct
import threading

import openai
import pytest
from loopback_completions import short_id
from loopback_embeddings import embed

from llm.endpoint.vectors import keep_vectors, known_vectors, numbers_of, read_vectors


def float32(numbers):
    """Return the bytes of numbers as the standard library packs them."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


def vectors_of(answer):
    return [float32(one.embedding) for one in answer.data]


def embed_with(gateway, *texts, **more):
    return gateway.client.embeddings.create(model="vectors", input=list(texts), **more)


def test_vectors_come_back_in_the_order_of_the_texts(gateway):
    answer = embed_with(gateway, "one", "two", "three", dimensions=8)
    assert vectors_of(answer) == [float32(embed(text, 8)) for text in ("one", "two", "three")]
    assert [one.index for one in answer.data] == [0, 1, 2]
    assert answer.model == "vectors"


def test_every_form_of_an_answer_is_the_same_bit_by_bit_whether_it_was_known_or_not(gateway, loopback):
    expected = [float32(embed(text, 64)) for text in ("猫", "cat")]
    for encoding in ("float", "base64", "float", "base64"):
        answer = embed_with(gateway, "猫", "cat", dimensions=64, encoding_format=encoding)
        found = [
            base64.b64decode(one.embedding) if encoding == "base64" else float32(one.embedding) for one in answer.data
        ]
        assert found == expected
    assert loopback.totals()["attempts"] == 1


def test_numbers_of_both_forms_are_equal_as_a_client_reads_them(gateway):
    plain = gateway.client.embeddings.create(model="vectors", input="one", encoding_format="float").data[0].embedding
    assert plain == gateway.client.embeddings.create(model="vectors", input="one").data[0].embedding
    assert plain == list(struct.unpack("<256f", float32(embed("one", 256))))


def test_only_texts_that_are_not_known_are_sent(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.raw(answer_with([1.0], [2.0])), answers.raw(answer_with([3.0])))
    assert [one.embedding for one in embed_with(gateway, "a", "b").data] == [[1.0], [2.0]]
    assert [one.embedding for one in embed_with(gateway, "b", "c", "a", "c").data] == [[2.0], [3.0], [1.0], [3.0]]
    assert [body["input"] for _, body in server.calls] == [["a", "b"], ["c"]]
    assert [(body["model"], body["encoding_format"]) for _, body in server.calls] == [("served-vectors", "base64")] * 2
    assert [row[-1] for row in gateway.rows()] == ["ok", "ok"]


def test_a_known_text_costs_nothing(gateway, loopback):
    spent = []
    for _ in range(2):
        answer = gateway.http.post("/embeddings", json={"model": "vectors", "input": "a text of some length"})
        spent.append((gateway.ledger.spending().nano_usd, answer.headers["x-alpsbench-cache"]))
    tokens = len("a text of some length") // 4
    assert spent == [(tokens * 100, "miss"), (tokens * 100, "hit")]
    assert answer.json()["usage"] == {"prompt_tokens": 0, "total_tokens": 0}


def test_a_text_alone_and_one_in_a_list_are_the_same(gateway, loopback):
    alone = gateway.client.embeddings.create(model="vectors", input="one")
    assert vectors_of(alone) == vectors_of(embed_with(gateway, "one"))
    assert loopback.totals()["attempts"] == 1


def test_dimensions_and_tokens_are_other_vectors(gateway, loopback):
    assert [len(embed_with(gateway, "one", dimensions=count).data[0].embedding) for count in (4, 8)] == [4, 8]
    tokens = gateway.client.embeddings.create(model="vectors", input=[[1, 2], [3]], dimensions=4)
    assert vectors_of(tokens) == [float32(embed(text, 4)) for text in ("1 2", "3")]
    gateway.client.embeddings.create(model="vectors", input=[1, 2], dimensions=4)
    assert loopback.totals()["attempts"] == 3


def test_more_texts_than_one_question_to_the_ledger_takes_are_all_known_afterwards(gateway, loopback):
    texts = [f"text {number}" for number in range(1200)]
    first, again = (vectors_of(embed_with(gateway, *texts, dimensions=2)) for _ in range(2))
    assert first == again == [float32(embed(text, 2)) for text in texts]
    assert loopback.totals()["attempts"] == 1


def answer_with(*vectors):
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return json.dumps({"data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}})


def test_a_server_that_refuses_the_exact_form_is_asked_in_decimals_from_then_on(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.fails(400), answers.raw(answer_with([0.1])))
    assert vectors_of(embed_with(gateway, "a")) == [float32([0.1])]
    assert vectors_of(embed_with(gateway, "b")) == [float32([0.1])]
    assert [body["encoding_format"] for _, body in server.calls] == ["base64", "float", "float"]
    assert [row[-1] for row in gateway.rows()] == ["http_error", "ok", "ok"]


def test_what_both_forms_are_refused_for_is_the_request_itself(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.fails(422))
    with pytest.raises(openai.UnprocessableEntityError):
        embed_with(gateway, "a")
    server.will(answers.raw(answer_with([0.5])))
    embed_with(gateway, "a")
    assert [body["encoding_format"] for _, body in server.calls] == ["base64"]


def test_an_answer_without_a_vector_for_each_text_is_none(serve, server, answers):
    gateway = serve(server.url)
    server.will(answers.raw(answer_with([0.5])))
    with pytest.raises(openai.InternalServerError, match="no vectors"):
        embed_with(gateway, "a", "b")
    assert [row[-1] for row in gateway.rows()] == ["empty"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        [{"index": 1, "embedding": [1.0]}],
        [{"embedding": [1.0]}],
        [{"index": 0}],
        [{"index": 0, "embedding": None}],
        [{"index": 0, "embedding": []}],
        [{"index": 0, "embedding": ""}],
        [{"index": 0, "embedding": "AAAA"}],
        [{"index": 0, "embedding": "no base64!"}],
        [{"index": 0, "embedding": [[1.0]]}],
        [{"index": 0, "embedding": [float("nan")]}],
        [{"index": 0, "embedding": [1e300]}],
        [{"index": 0, "embedding": "AADAfw=="}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"index": [], "embedding": [1.0]}],
        ["text"],
    ],
)
def test_what_is_no_vector_is_not_kept(data):
    assert read_vectors({"data": data}, ["key"]) is None


def test_vectors_are_put_in_order_by_their_index():
    data = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": base64.b64encode(float32([1.0])).decode()}]
    found = read_vectors({"data": data}, ["first", "second"])
    assert found is not None
    assert {key: numbers_of(vector) for key, vector in found.items()} == {"first": [1.0], "second": [2.0]}


def test_a_vector_that_is_kept_stays_as_it_is(ledger):
    keep_vectors(ledger, {"a": b"first", "b": b"first"})
    keep_vectors(ledger, {"b": b"second", "c": b"second"})
    assert known_vectors(ledger, ["a", "b", "c", "d"]) == {"a": b"first", "b": b"first", "c": b"second"}


def test_a_text_under_way_is_waited_for_and_not_sent_twice(gateway, loopback):
    loopback.plan(latency_ms=300)
    a, b, c = (letter * 40 for letter in "abc")  # of ten tokens each
    answers = {}

    def ask(*texts):
        answers[texts] = vectors_of(embed_with(gateway, *texts, dimensions=4))

    threads = [threading.Thread(target=ask, args=texts) for texts in ((a, b), (a, b, c), (c, b))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {texts: [float32(embed(text, 4)) for text in texts] for texts in answers}
    assert loopback.totals()["charged"]["prompt_tokens"] == 30


def test_who_waits_for_a_text_that_fails_with_others_asks_for_it_alone(gateway, loopback, wait_until):
    both, alone = short_id("bad", "good"), short_id("good")
    loopback.plan(latency_ms=300, endpoints=["embeddings"], script={both: "422"})
    first = threading.Thread(
        target=lambda: pytest.raises(openai.UnprocessableEntityError, embed_with, gateway, "bad", "good")
    )
    first.start()
    wait_until(lambda: loopback.totals()["in_flight"] == 1)
    assert vectors_of(embed_with(gateway, "good")) == [float32(embed("good", 256))]
    first.join()
    seen = loopback.seen()["identities"]
    assert [attempt["status"] for attempt in seen[both]] == [422, 422]
    assert [attempt["status"] for attempt in seen[alone]] == [200]
    assert seen[alone][0]["at_seconds"] > seen[both][-1]["at_seconds"]


def test_a_failing_server_is_tried_again(gateway, loopback):
    loopback.plan(endpoints=["embeddings"], script={"*": ["429_ms", "503"]}, retry_after_seconds=0.01)
    assert vectors_of(embed_with(gateway, "one", dimensions=4)) == [float32(embed("one", 4))]
    assert [row[-1] for row in gateway.rows()] == ["rate_limited", "server_error", "ok"]


@pytest.mark.parametrize(
    "given", [None, [], "missing", 5, {}, [1, "a"], ["a", 1], [[]], [["a"]], [None], [True], [1.5]]
)
def test_what_is_no_text_is_refused_before_anything_is_sent(standing, given):
    body = {"model": "vectors"} | ({} if given == "missing" else {"input": given})
    answer = standing.http.post("/embeddings", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "input"
    assert standing.rows() == []


def test_an_unknown_form_is_refused(standing):
    answer = standing.http.post("/embeddings", json={"model": "vectors", "input": "a", "encoding_format": "int8"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "encoding_format")
