"""The names of all that can be wrong with an answer, in groups; a plan may name a group for all of its kinds."""

from collections.abc import Iterable

GROUPS: dict[str, tuple[str, ...]] = {
    "rate_limits": ("429", "429_seconds", "429_date", "429_ms"),
    "server_errors": ("500", "502", "503", "503_seconds", "408", "409"),
    "connections": ("never", "slow", "cut_before", "reset", "cut_headers", "cut_body", "slow_body"),
    "bodies": (
        *("html", "not_json", "empty_body", "empty_object", "empty_list"),
        *("no_choices", "null_message", "error_object"),
    ),
    "bad_answers": (
        *("content_empty", "content_null", "content_blank", "reasoning_only"),
        *("length_cut", "length_complete", "length_cured", "filter_text", "filter_empty", "filter_null", "refusal"),
        *("prose", "prose_json", "fenced", "two_values", "missing_field", "wrong_type", "nan", "cut"),
    ),
    "stopping": ("401", "402", "403", "404", "429_quota"),
    "bad_requests": ("400_context_length", "400_content_filter"),
}
KINDS = frozenset(kind for kinds in GROUPS.values() for kind in kinds)
BROKEN = {"never", "cut_before", "reset", "cut_headers", "cut_body"}
"""Kinds that are never wholly written: the model worked, and the client cannot know what it cost."""
UNCHARGED = {"html", "not_json", "empty_body", "empty_object", "empty_list", "error_object"}
"""Kinds of status 200 where the model did not work."""


def is_kind(name: str) -> bool:
    """Say whether a plan may name this: a kind, or any status from 400 to 599."""
    return name in KINDS or (len(name) == 3 and name[0] in "45" and name.isdigit())


def is_status(kind: str) -> bool:
    """Say whether the kind is an error status."""
    return kind[:3].isdigit()


def expand(names: Iterable[str]) -> list[str]:
    """Return the kinds that are named alone or as a group, in order.

    Raises:
        ValueError: a name is neither.
    """
    kinds = [kind for name in names for kind in GROUPS.get(name, (name,))]
    if unknown := [kind for kind in kinds if not is_kind(kind)]:
        raise ValueError(f"unknown kinds: {', '.join(unknown)}")
    return kinds
