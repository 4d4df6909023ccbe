"""Decides which conversations are kept, and why the others are not, without reading what was said."""

from collections.abc import Sequence
from datetime import date
from typing import Literal, TypedDict

from stages.beside import beside
from stages.repeated_rows import tell_apart
from warehouse import Warehouse

SQL = beside(__file__, ".sql")


class Choice(TypedDict):
    """Which conversations are kept. Each is asked in this order, and the first reason against it counts.

    A row with the hash, user and time of another is dropped: one of them stays.

    `address_conversations`, `address_countries` and `address_languages`: a user with more than that many, repeated rows
    not counted, is an address that many people share, and goes with all conversations. None looks at no number.

    `languages`, `chat_models` and `countries`: one of these names, as the source writes them, in any case. `toxic` and
    `redacted`: whether conversations that the source flags so are kept or dropped. `since` and `until`: ended on one of
    these days in UTC or between them. None asks nothing. What a filter asks for and the source does not tell (the first
    schema has no country) is dropped too, with a reason that says so.

    `minimum` to `maximum`, both included: with `unit` dialogue the conversation's own turns count, with `unit` user the
    sum over all that is left of the user by then. Measured in messages, or in rounds (messages of the user).
    """

    address_conversations: int | None
    address_countries: int | None
    address_languages: int | None
    languages: Sequence[str] | None
    toxic: Literal["keep", "drop"]
    redacted: Literal["keep", "drop"]
    chat_models: Sequence[str] | None
    countries: Sequence[str] | None
    since: date | None
    until: date | None
    unit: Literal["dialogue", "user"]
    measure: Literal["messages", "rounds"]
    minimum: int
    maximum: int


def choose(db: Warehouse, choice: Choice) -> None:
    """Make the temporary table `chosen`: the conversations, each with a `drop_reason` or null, and a `drop_detail`."""
    tell_apart(db)
    db.execute(SQL, dict(choice))
