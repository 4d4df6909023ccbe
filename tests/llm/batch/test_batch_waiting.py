"""What a person is told while batch jobs go on, and what is in memory meanwhile."""

import weakref

from llm.gateway import Request
from llm.jobs import Job, Jobs


class Slow(Jobs):
    """Tells of so many answered calls before a job is looked at in truth."""

    def __init__(self, *answered):
        super().__init__(0.001)
        self.answered = list(answered)

    async def look(self, wire, mark, job):
        if self.answered:
            return Job("in_progress", answered=self.answered.pop(0))
        return await super().look(wire, mark, job)


def test_who_waits_is_told_of_calls_that_a_job_has_answered(ask, model, loopback, prompt, requests, count):
    ask(4)
    told = []
    asked = model(jobs=Slow(0, 2, 5, 5))
    asked.progress = lambda done, total: told.append((done, total))
    asked.ask(prompt, requests(10), count)
    assert told == [(4, 10), (4, 10), (6, 10), (9, 10), (9, 10), (10, 10)]


def test_while_jobs_go_on_no_request_is_in_memory(model, loopback, prompt, count):
    loopback.plan(script={"3": ["prose"]}, batch_seconds=0.3)
    made: list[weakref.ref[Request]] = []
    waited = []

    class Weighing(Jobs):
        async def wait(self):
            waited.append(sum(one() is not None for one in made))
            await super().wait()

    def request_of(number):
        request = Request(f"s{number}", {"number": number})
        made.append(weakref.ref(request))
        return request

    answers = dict(model(jobs=Weighing(0.005)).each(prompt, range(50), request_of, count, 50))
    assert {number: outcome.answer.number for number, outcome in answers.items()} == {n: n for n in range(50)}
    assert waited
    assert max(waited) <= 1
