"""What one attempt at a call can come to, and what it used."""

from dataclasses import dataclass, field
from typing import Literal

Status = Literal[
    "ok", "schema_error", "truncated", "too_long", "filtered", "refused", "empty", "reasoning_only",
    "rate_limited", "timeout", "server_error", "unreachable", "http_error", "not_recorded", "budget", "cancelled",
]  # fmt: skip
PASSING: frozenset[Status] = frozenset({"rate_limited", "timeout", "server_error", "unreachable"})
"""How an attempt ends that may well be answered a little later."""
OWN: frozenset[Status] = frozenset({"truncated", "too_long", "filtered", "refused"})
"""How an attempt ends because of what was asked: it says nothing of how the next one will end."""
UNSEEN: frozenset[Status] = frozenset({"timeout", "unreachable", "cancelled"})
"""How an attempt ends of which nobody can tell what it cost."""
UNCHARGED: frozenset[Status] = frozenset({"rate_limited", "server_error", "http_error", "too_long"})
"""How an attempt ends for which no model worked."""
LOST = "lost"
"""What the ledger calls an attempt whose process died before the answer was written down."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one attempt. Cached ones are among those of the prompt, reasoning among those of the completion."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True)
class Reply:
    """What came back from one attempt; `text` is the answer only where the status is ok."""

    status: Status
    text: str = ""
    detail: str | None = None
    usage: Usage = field(default_factory=Usage)
    retry_after: float | None = None
    """Seconds that the server wants to be left alone for."""
    is_sent: bool = True
    """Whether anything was sent; what was not costs nothing."""
    stops: str | None = None
    """Why the provider cannot be used at all any more, for a person to read."""
