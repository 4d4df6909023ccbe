"""What the loopback server did, attempt by attempt: never a word of what was asked or answered."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from loopback_completions import Tokens

NOTHING = Tokens()


@dataclass(slots=True)
class Attempt:
    """One call: what was done with it, what it cost, and whether the client could know."""

    kind: str
    status: int
    via: Literal["live", "batch"]
    endpoint: str
    at_seconds: float
    is_early: bool = False
    """The client did not wait as long as it was told to the time before."""
    tokens: Tokens = NOTHING
    is_charged: bool = False
    shows_usage: bool = False
    """The usage stands in the answer."""
    is_ended: bool = False
    is_written: bool = False
    """The whole answer went to the client; of a batch, the file that it stands in."""

    @property
    def is_seen(self) -> bool:
        """Whether the client can know what it cost."""
        return self.shows_usage and self.is_written

    def told(self) -> dict[str, Any]:
        """Return the attempt as JSON."""
        return {
            **{"kind": self.kind, "status": self.status, "via": self.via, "endpoint": self.endpoint},
            **{"at_seconds": round(self.at_seconds, 4), "early": self.is_early},
            **{"charged": self.is_charged, "seen": self.is_seen},
            **{"ended": self.is_ended, "written": self.is_written},
            **{f"{name}_tokens": count for name, count in self.tokens._asdict().items()},
        }


@dataclass
class Seen:
    """All attempts by identity, and how many calls were in flight at once."""

    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    in_flight: int = 0
    max_in_flight: int = 0
    api: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Calls that cost no tokens, by name and kind."""

    def begin(self, identity: str, kind: str, endpoint: str, via: Literal["live", "batch"] = "live") -> Attempt:
        """Write an attempt down; it is in flight until `end`."""
        now = time.monotonic()
        is_early = via == "live" and now < self.waits.pop(identity, 0)
        attempt = Attempt(kind, 200, via, endpoint, now - self.began, is_early)
        self.attempts.setdefault(identity, []).append(attempt)
        if via == "live":
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        return attempt

    def end(self, attempt: Attempt, written: bool) -> None:
        """Take an attempt out of flight."""
        attempt.is_ended, attempt.is_written = True, written
        self.in_flight -= attempt.via == "live"

    def wait(self, identity: str, seconds: float) -> None:
        """Remember that a client was told to wait."""
        if seconds > 0:
            self.waits[identity] = time.monotonic() + seconds

    def told(self) -> dict[str, Any]:
        """Return everything as JSON."""
        told = {identity: [attempt.told() for attempt in attempts] for identity, attempts in self.attempts.items()}
        return {"identities": told, "totals": self.totals()}

    def totals(self) -> dict[str, Any]:
        """Return counts over all attempts; tokens of those that are not ended are in none."""
        every = [attempt for attempts in self.attempts.values() for attempt in attempts]
        charged = [attempt for attempt in every if attempt.is_charged and attempt.is_ended]
        return {
            "identities": len(self.attempts),
            "attempts": len(every),
            "kinds": dict(Counter(attempt.kind for attempt in every)),
            "answered_again": sum(map(_again, self.attempts.values())),
            "early": sum(attempt.is_early for attempt in every),
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "api": {name: dict(kinds) for name, kinds in self.api.items()},
            "charged": _sum(attempt for attempt in charged if attempt.is_seen),
            "charged_unseen": _sum(attempt for attempt in charged if not attempt.is_seen),
        }


def _again(attempts: Iterable[Attempt]) -> int:
    """Count the attempts at what was answered well, wholly, before."""
    attempts = list(attempts)
    good = [place for place, attempt in enumerate(attempts) if attempt.kind == "ok" and attempt.is_written]
    return len(attempts) - good[0] - 1 if good else 0


def _sum(attempts: Iterable[Attempt]) -> Mapping[str, int]:
    chosen = list(attempts)
    sums = [sum(column) for column in zip(*(attempt.tokens for attempt in chosen), strict=True)] or [0] * 4
    return {"attempts": len(chosen), **dict(zip((f"{name}_tokens" for name in Tokens._fields), sums, strict=True))}
