import json

import httpx
import openai
import pytest

pytestmark = pytest.mark.slow
URL = "/v1/chat/completions"


@pytest.fixture
def start(client, body):
    """Send a file with a line for each number, and make a job of it."""

    def make(numbers, metadata=None, **changes):
        lines = [{"custom_id": f"c{n}", "method": "POST", "url": URL, "body": body(n), **changes} for n in numbers]
        content = "\n".join(map(json.dumps, lines)).encode()
        file = client.files.create(file=("in.jsonl", content), purpose="batch")
        return client.batches.create(
            input_file_id=file.id, endpoint=URL, completion_window="24h", metadata=metadata or {}
        )

    return make


@pytest.fixture
def lines(client):
    """Read a file of results: custom_id to line."""

    def read(id):
        every = [json.loads(line) for line in client.files.content(id).text.splitlines()] if id else []
        return {line["custom_id"]: line for line in every}

    return read


def test_a_job_answers_every_line_and_is_written_when_its_file_is_read(loopback, client, start, lines):
    made = start(range(10), {"run": "seven"})
    assert (made.status, made.metadata) == ("validating", {"run": "seven"})
    job = client.batches.retrieve(made.id)
    assert job.status == "completed"
    assert (job.request_counts.total, job.request_counts.completed, job.request_counts.failed) == (10, 10, 0)
    assert job.error_file_id is None
    assert loopback.totals()["charged"]["attempts"] == 0
    output = lines(job.output_file_id)
    assert {name: _content(line) for name, line in output.items()} == {f"c{n}": f'{{"number":{n}}}' for n in range(10)}
    assert list(output) != [f"c{n}" for n in range(10)]
    assert all(line["error"] is None and line["response"]["request_id"] for line in output.values())
    totals = loopback.totals()
    assert (totals["charged"]["attempts"], totals["charged_unseen"]["attempts"]) == (10, 0)
    assert {attempt["via"] for each in loopback.seen()["identities"].values() for attempt in each} == {"batch"}


def _content(line):
    return line["response"]["body"]["choices"][0]["message"]["content"]


def test_lines_fail_as_planned_and_bad_answers_are_answers(loopback, client, start, lines):
    loopback.plan(script={"1": "429", "2": "500", "3": "fenced", "4": "never", "5": "html", "6": "empty_object"})
    job = client.batches.retrieve(start(range(7)).id)
    output, errors = lines(job.output_file_id), lines(job.error_file_id)
    statuses = {name: line["response"]["status_code"] for name, line in errors.items()}
    assert statuses == {"c1": 429, "c2": 500, "c4": 500, "c5": 500}
    assert errors["c1"]["response"]["body"]["error"]["code"] == "rate_limit_exceeded"
    assert set(output) == {"c0", "c3", "c6"}
    assert _content(output["c3"]).startswith("```json")
    assert output["c6"]["response"]["body"] == {}
    assert (job.request_counts.completed, job.request_counts.failed) == (3, 4)


def test_a_job_that_expires_has_done_a_part(loopback, client, start, lines):
    loopback.plan(batch_outcomes=["expired"], batch_done_share=0.3)
    job = client.batches.retrieve(start(range(10)).id)
    assert job.status == "expired"
    output, errors = lines(job.output_file_id), lines(job.error_file_id)
    assert (len(output), len(errors)) == (3, 7)
    assert set(output) | set(errors) == {f"c{n}" for n in range(10)}
    assert all(line["response"] is None for line in errors.values())
    assert {line["error"]["code"] for line in errors.values()} == {"batch_expired"}
    assert client.batches.retrieve(start(range(10)).id).status == "completed"


def test_a_job_takes_its_time_and_can_be_cancelled_in_it(loopback, client, start, lines):
    loopback.plan(batch_seconds=600)
    made = start(range(4))
    assert client.batches.retrieve(made.id).status == "validating"
    assert client.batches.cancel(made.id).status == "cancelling"
    assert client.batches.retrieve(made.id).status == "cancelling"
    loopback.plan(batch_seconds=0)
    other = start(range(4))
    assert client.batches.retrieve(other.id).status == "completed"
    with pytest.raises(openai.ConflictError):
        client.batches.cancel(other.id)
    loopback.plan(batch_outcomes=["completed", "completed", "never"])
    third = start(range(4))
    assert client.batches.retrieve(third.id).status == "in_progress"
    client.batches.cancel(third.id)
    job = client.batches.retrieve(third.id)
    assert job.status == "cancelled"
    assert len(lines(job.output_file_id)) == 2
    assert {line["error"]["code"] for line in lines(job.error_file_id).values()} == {"batch_cancelled"}


@pytest.mark.parametrize(
    ("numbers", "changes", "code"),
    [
        ([1, 1], {}, "duplicate_custom_id"),
        ([], {}, "empty_file"),
        ([1], {"url": "/v1/embeddings"}, "invalid_url"),
        ([1], {"method": "GET"}, "missing_required_parameter"),
        ([1, 2, 3, 4], {}, "too_many_tasks"),
    ],
)
def test_a_file_that_is_not_right_fails_the_job(loopback, client, start, numbers, changes, code):
    loopback.plan(batch_max_lines=3)
    job = client.batches.retrieve(start(numbers, **changes).id)
    assert job.status == "failed"
    assert [error.code for error in job.errors.data] == [code]
    assert (job.output_file_id, job.error_file_id) == (None, None)


def test_a_job_fails_loses_a_line_or_doubles_one_as_planned(loopback, client, start):
    loopback.plan(batch_outcomes=["failed", "missing_line", "doubled_line"])
    jobs = [client.batches.retrieve(start(range(5)).id) for _ in range(3)]
    assert [job.status for job in jobs] == ["failed", "completed", "completed"]
    counts = [len(client.files.content(job.output_file_id).text.splitlines()) for job in jobs[1:]]
    assert counts == [4, 6]


def test_jobs_are_listed_from_the_newest_in_pages(loopback, client, start):
    made = [start([n], {"n": str(n)}).id for n in range(5)]
    page = client.batches.list(limit=2)
    assert ([job.id for job in page.data], page.has_more) == (made[:2:-1], True)
    last = client.batches.list(limit=2, after=made[1])
    assert ([job.id for job in last.data], last.has_more) == ([made[0]], False)
    assert [job.metadata["n"] for job in client.batches.list(limit=2)] == ["4", "3", "2", "1", "0"]


def test_a_job_is_made_though_its_answer_is_lost(loopback, client, start):
    loopback.plan(script={"POST /v1/batches": ["cut_body", "503"]}, endpoints=["batches"])
    for error in (openai.APIConnectionError, openai.InternalServerError):
        with pytest.raises(error):
            start([1], {"run": "lost"})
    [job] = client.batches.list()
    assert job.metadata == {"run": "lost"}
    assert loopback.totals()["api"]["POST /v1/batches"] == {"cut_body": 1, "503": 1}


def test_a_file_that_is_cut_on_its_way_is_not_written(loopback, client, start, lines):
    loopback.plan(script={"GET /v1/files/{id}/content": ["cut_body"]}, endpoints=["files"])
    job = client.batches.retrieve(start(range(3)).id)
    with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
        lines(job.output_file_id)
    assert loopback.totals()["charged_unseen"]["attempts"] == 3
    assert len(lines(job.output_file_id)) == 3
    assert loopback.totals()["charged_unseen"]["attempts"] == 0


def test_files_are_kept_as_they_were_sent_and_can_be_deleted(loopback, client):
    content = b'{"a": 1}\r\n--x\r\n\x00\xff\n\n'
    file = client.files.create(file=("any name.jsonl", content), purpose="batch")
    assert (file.filename, file.bytes, file.purpose) == ("any name.jsonl", len(content), "batch")
    assert client.files.content(file.id).content == content
    assert client.files.retrieve(file.id).id == [each.id for each in client.files.list()][0] == file.id
    assert client.files.delete(file.id).deleted
    for call in (client.files.retrieve, client.files.content, client.batches.retrieve, client.batches.cancel):
        with pytest.raises(openai.NotFoundError):
            call(file.id)
