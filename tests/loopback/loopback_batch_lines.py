"""The lines of batch jobs: what is wrong with those that came in, and those that go out."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson
from loopback_chat import answer_line
from loopback_model import Model
from loopback_plan import draw
from loopback_seen import Attempt

Line = dict[str, Any]
UNDONE = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "cancelled": ("batch_cancelled", "This request was not executed, for the batch was cancelled."),
}


def read_lines(content: bytes, endpoint: str, most: int) -> tuple[list[Line], list[Line]]:
    """Return the lines of an input file, and what is wrong with them: {code, message, param, line}."""
    lines: list[Line] = []
    errors = []
    for number, text in enumerate(content.splitlines(), 1):
        try:
            line = orjson.loads(text)
            if found := _wrong_with(line, endpoint):
                errors.append(_error(*found, number))
            else:
                lines.append(line)
        except ValueError:
            errors.append(_error("invalid_json_line", "This line is not parseable as valid JSON.", number))
    if doubled := [name for name, count in Counter(line["custom_id"] for line in lines).items() if count > 1]:
        errors.append(_error("duplicate_custom_id", f"{len(doubled)} values of custom_id are not unique.", None))
    if len({str(line["body"].get("model")) for line in lines}) > 1:
        errors.append(_error("mismatched_model", "All requests of a batch must name one model.", None))
    if not content.strip():
        errors.append(_error("empty_file", "The input file has no lines.", None))
    if len(lines) > most:
        errors.append(_error("too_many_tasks", f"A batch may have {most} lines.", None))
    return lines, errors


@dataclass
class Results:
    """The lines that go out, answered and failed, and the attempts behind the answered ones."""

    output: list[Line] = field(default_factory=list)
    errors: list[Line] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)


def run_lines(model: Model, lines: list[Line], done: int, undone: str, job: str) -> Results:
    """Answer the first `done` lines in an order of hashes; the others fail as `undone` says."""
    results = Results()
    order = sorted(lines, key=lambda line: draw(model.plan.seed, job, line["custom_id"]))
    for number, line in enumerate(order[:done]):
        status, body, attempt = answer_line(model, line["body"])
        model.seen.end(attempt, False)
        response = {"status_code": status, "request_id": f"req_{job}_{number}", "body": body}
        (results.output if status == 200 else results.errors).append(_line(job, number, line, response, None))
        if status == 200:
            results.attempts.append(attempt)
    for number, line in enumerate(order[done:], done):
        code, message = UNDONE[undone]
        results.errors.append(_line(job, number, line, None, {"code": code, "message": message}))
    return results


def _line(job: str, number: int, line: Line, response: Any, error: Any) -> Line:
    name = line["custom_id"]
    return {"id": f"batch_req_{job}_{number}", "custom_id": name, "response": response, "error": error}


def _wrong_with(line: Any, endpoint: str) -> tuple[str, str] | None:
    if not isinstance(line, dict) or not isinstance(line.get("body"), dict):
        return "invalid_request", "This line has no body."
    if not line.get("custom_id") or line.get("method") != "POST":
        return "missing_required_parameter", "custom_id and method POST are required."
    if line.get("url") != endpoint:
        return "invalid_url", "The URL of this line is not the endpoint of the batch."
    return None


def _error(code: str, message: str, line: int | None) -> Line:
    return {"code": code, "message": message, "param": None, "line": line}
