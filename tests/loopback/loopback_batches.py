"""Batch jobs: made of a file, done after a while, with a file of answers and one of errors."""

import time
from dataclasses import dataclass, field
from typing import Any

import orjson
from loopback_batch_lines import Line, Results, read_lines, run_lines
from loopback_files import Files
from loopback_http import Answer, Request, error_answer, json_answer
from loopback_model import Model
from loopback_plan import BatchOutcome

ENDPOINT = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")
STEPS = (("validating", 0.1), ("in_progress", 0.9), ("finalizing", 1.0))
"""What a job is until which share of its time."""


@dataclass
class Job:
    """One job; it moves on when somebody looks."""

    id: str
    asked: dict[str, Any]
    lines: list[Line]
    wrong: list[Line]
    seconds: float
    outcome: BatchOutcome
    began: float = field(default_factory=time.monotonic)
    cancelled: float | None = None
    status: str = "validating"
    times: dict[str, int] = field(default_factory=lambda: {"created_at": int(time.time())})
    output_file_id: str | None = None
    error_file_id: str | None = None
    counts: tuple[int, int] = (0, 0)

    def status_now(self) -> str:
        """Return where the job should be by now."""
        now = time.monotonic()
        if self.cancelled is not None:
            return "cancelled" if now >= self.cancelled + self.seconds * 0.1 else "cancelling"
        passed = (now - self.began) / self.seconds if self.seconds else 1.0
        if self.wrong and passed >= STEPS[0][1]:
            return "failed"
        if self.outcome == "never":
            return "in_progress" if passed >= STEPS[0][1] else "validating"
        end = "expired" if self.outcome == "expired" else "completed"
        return next((status for status, share in STEPS if passed < share), end)

    def told(self) -> dict[str, Any]:
        """Return the job in the form of the protocol."""
        completed, failed = self.counts
        return {
            **{"id": self.id, "object": "batch", "status": self.status, "endpoint": self.asked["endpoint"]},
            **{"input_file_id": self.asked["input_file_id"], "metadata": self.asked.get("metadata")},
            **{"completion_window": self.asked["completion_window"], **self.times},
            **{"output_file_id": self.output_file_id, "error_file_id": self.error_file_id},
            "errors": {"object": "list", "data": self.wrong} if self.status == "failed" else None,
            "request_counts": {"total": len(self.lines), "completed": completed, "failed": failed},
        }


@dataclass
class Batches:
    """All jobs, in the order in which they were made."""

    model: Model
    files: Files
    jobs: dict[str, Job] = field(default_factory=dict)

    def create(self, request: Request) -> Answer:
        """Answer POST /v1/batches."""
        asked = orjson.loads(request.body)
        file = self.files.stored.get(asked.get("input_file_id"))
        if not file or file.purpose != "batch" or asked.get("endpoint") != ENDPOINT or "completion_window" not in asked:
            return error_answer(400, "invalid_request", f"A batch needs a file for batches, {ENDPOINT} and a window.")
        plan = self.model.plan
        lines, wrong = read_lines(file.content, ENDPOINT, plan.batch_max_lines)
        planned = plan.batch_outcomes[len(self.jobs)] if len(self.jobs) < len(plan.batch_outcomes) else "completed"
        if planned == "failed":
            wrong.append({"code": "token_limit_exceeded", "message": "As planned.", "param": None, "line": None})
        job = Job(f"batch_{len(self.jobs) + 1}", asked, lines, wrong, plan.batch_seconds, planned)
        self.jobs[job.id] = job
        return json_answer(job.told())

    def one(self, id: str) -> Answer:
        """Answer GET /v1/batches/{id}."""
        return json_answer(self._moved(self.jobs[id]).told()) if id in self.jobs else _missing()

    def listed(self, request: Request) -> Answer:
        """Answer GET /v1/batches: the newest first, `limit` of them (20) after the id `after`."""
        ids = list(reversed(self.jobs))
        after = request.query.get("after")
        if after and after not in self.jobs:
            return _missing()
        rest = ids[ids.index(after) + 1 :] if after else ids
        page = [self._moved(self.jobs[id]).told() for id in rest[: int(request.query.get("limit", 20))]]
        first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
        more = {"first_id": first, "last_id": last, "has_more": len(page) < len(rest)}
        return json_answer({"object": "list", "data": page, **more})

    def cancel(self, id: str) -> Answer:
        """Answer POST /v1/batches/{id}/cancel."""
        if id not in self.jobs:
            return _missing()
        job = self._moved(self.jobs[id])
        if job.status in ENDED:
            return error_answer(409, "conflict", f"The batch is {job.status}.")
        if job.cancelled is None:
            job.cancelled, job.status = time.monotonic(), "cancelling"
            job.times["cancelling_at"] = int(time.time())
        return json_answer(job.told())

    def move_all(self) -> None:
        """Do what is due in every job."""
        for job in self.jobs.values():
            self._moved(job)

    def _moved(self, job: Job) -> Job:
        now = job.status_now()
        if job.status in ENDED or job.status == now:
            return job
        job.status = now
        job.times[f"{now}_at"] = int(time.time())
        if now in ENDED and now != "failed":
            self._finish(job)
        return job

    def _finish(self, job: Job) -> None:
        is_whole = job.status == "completed"
        done = len(job.lines) if is_whole else int(len(job.lines) * self.model.plan.batch_done_share)
        results = run_lines(self.model, job.lines, done, job.status, job.id)
        job.counts = len(results.output), len(results.errors)
        _spoil(results, job.outcome)
        if results.output:
            job.output_file_id = self._store(f"{job.id}_output.jsonl", results.output, results)
        if results.errors:
            job.error_file_id = self._store(f"{job.id}_error.jsonl", results.errors, None)

    def _store(self, name: str, lines: list[Line], results: Results | None) -> str:
        content = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
        return self.files.add(name, "batch_output", content, results.attempts if results else ()).id


def _spoil(results: Results, outcome: BatchOutcome) -> None:
    """Lose the first answered line, or give it twice, where that is how the job ends."""
    if outcome == "missing_line" and results.output:
        del results.output[0], results.attempts[0]
    if outcome == "doubled_line":
        results.output.extend(results.output[:1])


def _missing() -> Answer:
    return error_answer(404, "not_found", "There is no such batch.")
