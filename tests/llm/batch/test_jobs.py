"""Batch jobs against a server in a process of its own: what goes wrong on the way, and what is made of it."""

import asyncio
import json
from typing import Any
from urllib.request import urlopen

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm.catalogue import Entry
from llm.errors import ModelError
from llm.insistence import RefusedError
from llm.jobs import ENDPOINT, MARK, Job, Jobs, job_of
from llm.wire import Wire

LOST = [
    "cut_before",
    "reset",
    "cut_headers",
    "cut_body",
    "never",
    "html",
    "not_json",
    "empty_body",
    "empty_list",
    "empty_object",
    "error_object",
]
"""What loses an answer after the work is done."""
TROUBLES = ["500", "502", "503", "408", "409", "429", "429_ms", "503_seconds", *LOST]
TO_SEND, TO_HAND_IN, TO_LOOK, TO_READ = (
    "POST /v1/files",
    "POST /v1/batches",
    "GET /v1/batches/{id}",
    "GET /v1/files/{id}/content",
)


@pytest.fixture
def entry(loopback):
    return Entry("fable", loopback.url, "fable-2", timeout_seconds=0.2)


@pytest.fixture
def do(entry):
    """Take steps with jobs at the server: `do(lambda jobs, wire: jobs.find(wire, "m"))`."""

    def run(step, jobs=None, at=entry):
        async def all_of_it():
            wire = Wire(at, None)
            try:
                return await step(jobs or Jobs(0.001), wire)
            finally:
                await wire.close()

        return asyncio.run(all_of_it())

    return run


@pytest.fixture
def listed(loopback):
    """Give the marks of the jobs that the server has, the newest first."""

    def marks():
        with urlopen(f"{loopback.url}/batches?limit=1000") as response:
            return [job["metadata"].get(MARK) for job in json.load(response)["data"]]

    return marks


@pytest.fixture
def tries(loopback):
    """Give how often the server was called so."""
    return lambda name: sum(loopback.totals()["api"].get(name, {}).values())


def line(number, text=""):
    said = json.dumps({"number": number, "text": text}, ensure_ascii=False)
    body = {"model": "fable-2", "messages": [{"role": "user", "content": said}]}
    return json.dumps({"custom_id": f"k{number}", "method": "POST", "url": ENDPOINT, "body": body}).encode()


def said_in(line):
    return line["response"]["body"]["choices"][0]["message"]["content"]


def through(*numbers, text=""):
    """Hand in a call for each number, wait for the job, and give what came of it."""

    async def steps(jobs, wire):
        name = await jobs.hand_in(wire, "mark", b"\n".join(line(number, text) for number in numbers))
        while not (job := await jobs.look(wire, "mark", name)).has_ended:
            await jobs.wait()
        return job, await jobs.read(wire, job, said_in)

    return steps


def test_a_job_is_handed_in_looked_at_and_read(loopback, do, listed):
    loopback.plan(batch_seconds=0.1)
    job, found = do(through(3, 1, 2))
    assert (job.status, job.answered, job.failed, job.failures, job.error) == ("completed", 3, 0, None, None)
    assert found == {"k1": '{"number":1}', "k2": '{"number":2}', "k3": '{"number":3}'}
    assert listed() == ["mark"]


@pytest.mark.parametrize("kind", TROUBLES)
def test_troubles_on_the_way_are_waited_for_and_the_job_is_begun_once(loopback, do, listed, tries, kind):
    script = {where: [kind, kind] for where in (TO_SEND, TO_HAND_IN, TO_LOOK, TO_READ)}
    loopback.plan(script=script, endpoints=["batches", "files"], retry_after_seconds=0.01)
    _, found = do(through(1, 2))
    assert found == {"k1": '{"number":1}', "k2": '{"number":2}'}
    assert listed() == ["mark"]
    was_made = kind in LOST
    assert [tries(where) for where in script] == [3, 1 if was_made else 3, 3, 3]
    assert loopback.totals()["charged"]["attempts"] == 2


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("400", "batch jobs are refused (400)"),
        ("401", "the key is not accepted (401)"),
        ("402", "the account has no balance (402)"),
        ("403", "access is refused (403)"),
        ("404", "the address or the model is not known there (404)"),
        ("429_quota", "the account has no balance (429)"),
    ],
)
@pytest.mark.parametrize("where", [TO_SEND, TO_HAND_IN, "GET /v1/batches"])
def test_a_refusal_ends_it_at_once_and_says_why(loopback, entry, do, tries, where, kind, reason):
    loopback.plan(script={where: kind}, endpoints=["batches", "files"])
    step = through(1) if where.startswith("POST") else lambda jobs, wire: jobs.find(wire, "mark")
    with pytest.raises(RefusedError) as error:
        do(step)
    assert str(error.value) == f"fable at {entry.url}: {reason}"
    assert error.value.number == int(kind[:3])
    assert tries(where) == 1


@pytest.mark.parametrize(
    ("kind", "trouble"), [("503", "answers 503"), ("reset", "cannot be reached"), ("html", "nothing that can be read")]
)
def test_patience_has_an_end_and_the_job_goes_on(loopback, do, listed, kind, trouble):
    name = do(lambda jobs, wire: jobs.hand_in(wire, "mark", line(1)))
    loopback.plan(script={TO_LOOK: kind}, endpoints=["batches"])
    with pytest.raises(ModelError, match=rf"{trouble}.*batch jobs go on there: run it again later") as error:
        do(lambda jobs, wire: jobs.look(wire, "mark", name), Jobs(0.001, patience_seconds=0.05))
    assert not isinstance(error.value, RefusedError), "nobody knows what the server did"
    loopback.plan()
    assert do(lambda jobs, wire: jobs.look(wire, "mark", name)).status == "completed"


def test_nobody_waits_for_an_address_at_which_nobody_listens(do):
    nowhere = Entry("fable", "http://127.0.0.1:9/v1", "fable-2")
    with pytest.raises(ModelError, match="fable at http://127.0.0.1:9/v1 cannot be reached"):
        do(through(1), Jobs(3600), nowhere)


def test_the_server_says_how_long_it_wants_to_be_left_alone(loopback, do, tries):
    loopback.plan(script={"GET /v1/batches": "503_seconds"}, endpoints=["batches"], retry_after_seconds=0.5)
    with pytest.raises(ModelError, match="503"):
        do(lambda jobs, wire: jobs.find(wire, "mark"), Jobs(0.001, patience_seconds=0.4))
    assert tries("GET /v1/batches") == 2


def test_a_job_is_found_among_many_by_our_name_for_it(do, listed):
    async def steps(jobs, wire):
        names = [await jobs.hand_in(wire, f"m{number}", line(number)) for number in range(205)]
        return names, [await jobs.find(wire, mark) for mark in ("m0", "m104", "m204", "m205")]

    names, found = do(steps)
    assert found == [names[0], names[104], names[204], None]
    assert len(listed()) == 205


def test_a_job_that_appears_a_moment_later_is_found(do):
    class Late(Jobs):
        made = None
        wire: Any = None

        async def wait(self):
            self.made = self.made or await self.hand_in(self.wire, "late", line(1))

    async def steps(jobs, wire):
        jobs.wire = wire
        return await jobs.find(wire, "late"), jobs.made

    found, made = do(steps, Late(0.001))
    assert found == made is not None


def test_a_job_that_the_server_does_not_know_any_more_is_gone(loopback, do):
    name = do(lambda jobs, wire: jobs.hand_in(wire, "mark", line(1)))
    loopback.reset()
    job = do(lambda jobs, wire: jobs.look(wire, "mark", name))
    assert (job.status, job.has_ended) == ("gone", True)


@pytest.mark.parametrize("change", ["an address with nothing at it", "a server that forgets only now and then"])
def test_a_job_is_not_taken_for_gone_where_the_server_may_have_it(loopback, entry, do, change):
    name = do(lambda jobs, wire: jobs.hand_in(wire, "mark", line(1)))
    elsewhere = entry
    if change.startswith("an address"):
        elsewhere = Entry("fable", f"{loopback.url}/other", "fable-2")
    else:
        loopback.plan(script={TO_LOOK: ["404"]}, endpoints=["batches"])
    with pytest.raises(RefusedError, match="404"):
        do(lambda jobs, wire: jobs.look(wire, "mark", name), at=elsewhere)


def test_what_ends_a_line_elsewhere_ends_none_in_answers(loopback, do):
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\rj"
    loopback.plan(responder="echo")
    _, found = do(through(1, 2, text=text))
    assert [json.loads(found[name])["text"] for name in ("k1", "k2")] == [text] * 2


@pytest.fixture
def stored(do):
    """Give what is read out of a file with such content, as the answers or the failures of a job."""

    def read(content, least=0, failures=None):
        async def steps(jobs, wire):
            names = [
                text and (await wire.client.files.create(file=("f.jsonl", text), purpose="batch")).id
                for text in (content, failures)
            ]
            return await jobs.read(wire, Job("completed", least, 0, *names), lambda one: one["response"])

        return do(steps)

    return read


GOOD = st.tuples(st.just(True), st.integers(0, 5), st.integers())
BAD = st.tuples(
    st.just(False), st.just(0), st.sampled_from(["", " ", "{", "[]", "7", "null", "{}", '{"custom_id": 7}'])
)


@given(st.lists(st.one_of(GOOD, BAD), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_good_line_of_each_call_counts_and_no_broken_one_hides_it(stored, lines):
    good = [(f"k{number}", value) for is_good, number, value in lines if is_good]
    texts = [json.dumps({"custom_id": f"k{n}", "response": value}) if ok else value for ok, n, value in lines]
    wanted = {}
    for name, value in good:
        if name not in wanted:
            wanted[name] = value
    content = "\n".join(texts).encode()
    if not good and content.strip():
        with pytest.raises(ModelError):
            stored(content)
    else:
        assert stored(content or b"\n") == wanted


def test_an_answer_outweighs_a_failure_of_the_same_call(stored):
    one, other = (json.dumps({"custom_id": "k", "response": word}).encode() for word in ("answer", "failure"))
    assert stored(one, failures=other) == {"k": "answer"}


def test_a_file_with_fewer_lines_than_promised_is_fetched_again_and_then_taken(stored, tries):
    assert stored(json.dumps({"custom_id": "k", "response": 1}).encode(), least=2) == {"k": 1}
    assert tries(TO_READ) == 3


@pytest.mark.parametrize("content", [b"<html>Welcome</html>", b"\n", b"[]"])
def test_what_is_no_file_of_answers_is_not_taken_for_one(stored, content):
    with pytest.raises(ModelError, match="answers cannot be read; run it again later"):
        stored(content, least=1)


def test_a_file_that_is_gone_is_empty(do, tries):
    assert do(lambda jobs, wire: jobs.read(wire, Job("completed", 3, 0, "file-0"), said_in)) == {}
    assert tries(TO_READ) == 3


@pytest.mark.parametrize(
    "told",
    [
        {"status": "failed"},
        {"status": "failed", "errors": None, "request_counts": None, "output_file_id": None},
        {"status": "failed", "errors": {"data": []}, "request_counts": {}, "output_file_id": 7},
        {"status": "failed", "errors": {"data": ["x"]}, "request_counts": [], "error_file_id": {}},
        {"status": "failed", "errors": [], "request_counts": {"completed": "3"}},
    ],
)
def test_of_a_job_only_its_status_must_be_there(told):
    assert job_of(told) == Job("failed")
