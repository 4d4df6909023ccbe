"""The model that is served: its plan, what it has met, and what it did."""

from dataclasses import dataclass, field
from functools import partial

from loopback_faults import wait_told
from loopback_http import Answer
from loopback_plan import Endpoint, Fate, Plan, decide, draw
from loopback_seen import Attempt, Seen


@dataclass
class Model:
    """One for all endpoints; a reset keeps the plan."""

    plan: Plan = field(default_factory=Plan)
    seen: Seen = field(default_factory=Seen)
    fates: dict[str, Fate] = field(default_factory=dict)

    def decide(self, identity: str, endpoint: Endpoint) -> str:
        """Draw what this sight of an identity gets: "ok" or a kind of fault."""
        if endpoint not in self.plan.endpoints:
            return "ok"
        return decide(self.plan, identity, self.fates.setdefault(identity, Fate()))

    def is_full(self) -> bool:
        """Say whether one more call is too many."""
        return 0 < self.plan.max_inflight <= self.seen.in_flight

    def finish(self, answer: Answer, identity: str, attempt: Attempt) -> Answer:
        """Give an answer its time, and let it be written down when it is out; a 429 comes at once."""
        attempt.status = answer.status
        answer.ended = partial(self.seen.end, attempt)
        self.seen.wait(identity, wait_told(answer.headers))
        if answer.status != 429:
            answer.delay_seconds += (self.plan.latency_ms + self._jitter_ms(identity)) / 1000
        return answer

    def follow(self, plan: Plan) -> None:
        """Take another plan; what identities met under the last one does not count."""
        self.plan = plan
        self.fates.clear()

    def reset(self) -> None:
        """Forget all that was met and done."""
        self.seen = Seen()
        self.fates.clear()

    def _jitter_ms(self, identity: str) -> float:
        if not self.plan.jitter_ms:
            return 0
        return self.plan.jitter_ms * draw(self.plan.seed, identity, len(self.seen.attempts[identity]), "jitter")
