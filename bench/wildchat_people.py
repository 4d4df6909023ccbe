"""Who spoke, when, in which language and for how long: the facts of a made-up conversation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from wildchat_draws import Draws, Numbers, Picks
from wildchat_text import ARABIC, CHINESE, CYRILLIC, LATIN

HUNDRED = np.uint64(100)
REPEATED = 99
"""In a hundred rows the last repeats a row of the first 97, of its own hundred or of one before."""
NEAR_COPIES = (97, 98)
"""These are near-copies of such a row, by another user at another time."""

USERS = 300_000
TAIL = 2.46
"""The first user speaks in 0.6 % of all conversations; some 200,000 users are behind a million of them."""
SHARED = 40
"""So many first users are addresses that many people share: their countries and languages vary."""
ONE_ROUND, TWO_ROUNDS, MOST_ROUNDS = 0.55, 0.8, 200
MORE_ROUNDS = 4.6

LANGUAGES = {
    "English": (53, LATIN), "Chinese": (13, CHINESE), "Russian": (12, CYRILLIC), "French": (4, LATIN),
    "Spanish": (4, LATIN), "German": (2, LATIN), "Portuguese": (3, LATIN), "Arabic": (3, ARABIC), "Italian": (2, LATIN),
    "Turkish": (2, LATIN), "Ukrainian": (1, CYRILLIC), "Latin": (1, LATIN),
}  # fmt: skip
COUNTRIES = {
    "United States": 22, "Russia": 13, "China": 10, "Hong Kong": 6, "United Kingdom": 5, "Germany": 5, "France": 5,
    "Japan": 3, "Canada": 3, "Singapore": 3, "India": 3, "Brazil": 3, "Egypt": 2, "Morocco": 2, "Türkiye": 2,
    "Italy": 2, "Spain": 2, "Philippines": 2, "Australia": 2, "Ukraine": 1, "Vietnam": 1, "Mexico": 1, "Kenya": 1,
    "Peru": 1,
}  # fmt: skip
MODELS = {
    "gpt-3.5-turbo-0301": 25, "gpt-3.5-turbo-0613": 40, "gpt-3.5-turbo-1106": 2, "gpt-3.5-turbo-0125": 6,
    "gpt-4-0314": 9, "gpt-4-1106-preview": 11, "gpt-4-0125-preview": 5, "gpt-4-turbo-2024-04-09": 2,
}  # fmt: skip
FIRST_SECOND = 1_680_998_400
SECONDS = 386 * 86_400
"""From 9 April 2023 to the end of April 2024."""


@dataclass(frozen=True)
class Conversations:
    """The facts of some rows; a repeated row has those of the row that it repeats."""

    draws: Draws
    rows: Numbers

    @cached_property
    def same(self) -> Numbers:
        """The row that each is a repetition of; itself if it is none."""
        return np.where(self.rows % HUNDRED == REPEATED, self._earlier(self.rows), self.rows)

    @cached_property
    def copied(self) -> Numbers:
        """The row that the user's words are a near-copy of; `same` if they are their own."""
        return np.where(np.isin(self.same % HUNDRED, NEAR_COPIES), self._earlier(self.same), self.same)

    def _earlier(self, rows: Numbers) -> Numbers:
        hundreds = self.draws.whole(rows, "hundred") % (rows // HUNDRED + np.uint64(1))
        return hundreds * HUNDRED + self.draws.whole(rows, "slot") % np.uint64(NEAR_COPIES[0])

    @cached_property
    def users(self) -> Numbers:
        """Who spoke, as the rank of the user."""
        return self._users_of(self.same)

    def _users_of(self, rows: Numbers) -> Numbers:
        return (USERS * self.draws.unit(rows, "user") ** TAIL).astype(np.uint64)

    @cached_property
    def countries(self) -> Picks:
        """From where, as a position in COUNTRIES: one country a user, but for shared addresses."""
        return self.draws.pick(self._where(self.same), "country", tuple(COUNTRIES.values()))

    @cached_property
    def languages(self) -> Picks:
        """In which language, as a position in LANGUAGES: one a user likewise."""
        return self.draws.pick(self._where(self.copied), "language", tuple(weight for weight, _ in LANGUAGES.values()))

    def _where(self, rows: Numbers) -> Numbers:
        users = self._users_of(rows)
        return np.where(users < SHARED, rows + np.uint64(USERS), users)

    @cached_property
    def models(self) -> Picks:
        """Which model answered, as a position in MODELS."""
        return self.draws.pick(self.same, "model", tuple(MODELS.values()))

    @cached_property
    def seconds(self) -> Picks:
        """When the conversation ended, in seconds since 1970."""
        return FIRST_SECOND + (self.draws.whole(self.same, "time") % np.uint64(SECONDS)).astype(np.int64)

    @cached_property
    def rounds(self) -> Picks:
        """How many messages of the user: one in 55 %, three or more in 20 % with a long tail, 2.5 in the mean."""
        unit, tail = self.draws.unit(self.copied, "rounds"), self.draws.unit(self.copied, "more rounds")
        more = 3 + (MORE_ROUNDS * ((1 - tail) ** -0.5 - 1)).astype(np.int64)  # a Pareto tail of index 2
        rounds = np.where(unit < ONE_ROUND, 1, np.where(unit < TWO_ROUNDS, 2, more))
        return np.minimum(rounds, MOST_ROUNDS)
