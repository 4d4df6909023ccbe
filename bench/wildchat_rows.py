"""Rows in the published forms of WildChat, made of the facts of conversations and of their texts."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from wildchat_draws import Draws, Numbers, Picks
from wildchat_people import COUNTRIES, LANGUAGES, MODELS, Conversations
from wildchat_schemas import SCHEMAS
from wildchat_text import PHRASE_BYTES, ROOM, spoken

USER_BYTES, ASSISTANT_BYTES = (20, 2000), (200, 3000)
TOXIC, REDACTED = 0.05, 0.03
VERDICTS = 256
FLAGGED = 0.03
AGENTS = 40
DIGITS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)


@dataclass(frozen=True)
class Rows:
    """The rows of these numbers in one of the forms of SCHEMAS."""

    draws: Draws
    numbers: Numbers
    form: str

    def table(self) -> pa.Table:
        """Return them as Arrow."""
        schema = SCHEMAS[self.form]
        message = schema.field("conversation").type.value_type
        lists = {
            "conversation": pa.StructArray.from_arrays(
                [array_of(self.messages, field) for field in message], fields=list(message)
            ),
            **{
                name: self._verdicts(schema.field(name).type.value_type)
                for name in schema.names
                if "moderation" in name
            },
        }
        offsets = pa.array(self._starts, pa.int32())
        columns = {name: pa.ListArray.from_arrays(offsets, values) for name, values in lists.items()}
        arrays = [array_of(self.columns | columns, field) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    @cached_property
    def _facts(self) -> Conversations:
        return Conversations(self.draws, self.numbers)

    @cached_property
    def _starts(self) -> Picks:
        return np.concatenate(([0], np.cumsum(2 * self._facts.rounds)))

    @cached_property
    def columns(self) -> dict[str, pa.Array]:
        """The columns of a conversation that are no lists, by name."""
        facts, draws = self._facts, self.draws
        hashes = hexadecimal(draws, facts.same, "conversation", 2)
        countries = named(COUNTRIES, facts.countries)
        return {
            "conversation_hash": hashes,
            "conversation_id": hashes,
            "model": named(MODELS, facts.models),
            "timestamp": pa.array(facts.seconds * 1_000_000),
            "turn": pa.array(facts.rounds),
            "language": named(LANGUAGES, facts.languages),
            "toxic": pa.array(draws.unit(facts.copied, "toxic") < TOXIC),
            "redacted": pa.array(draws.unit(facts.copied, "redacted") < REDACTED),
            "state": pc.binary_join_element_wise("State of", countries, " "),
            "country": countries,
            "hashed_ip": hexadecimal(draws, facts.users, "address", 4),
            "header": headers().take(pa.array(draws.whole(facts.users, "agent") % np.uint64(AGENTS))),
        }

    @cached_property
    def messages(self) -> dict[str, pa.Array]:
        """The fields of all messages in a row, by name; what is said of users is null with assistants."""
        facts, at, answers = self._facts, self._at, self._answers
        of_all, of_users, of_answers = pa.array(at), pa.array(at, mask=answers), pa.array(at, mask=~answers)
        seconds = facts.seconds[at] - 45 * (2 * facts.rounds[at] - 1 - self._places)
        first_turns = (self.draws.whole(facts.same, "turn") % np.uint64(2**40)).astype(np.int64)
        ones, texts = np.ones(len(at)), self._texts
        return {
            **{name: self.columns[name].take(of_users) for name in ("country", "hashed_ip", "header", "state")},
            **{name: self.columns[name].take(of_all) for name in ("language", "redacted", "toxic")},
            "content": texts,
            "role": pa.array(["user", "assistant"]).take(pa.array(answers.astype(np.int8))),
            "timestamp": pa.array(seconds * 1_000_000, mask=~answers),
            "turn_identifier": pa.array(first_turns[at] + self._places // 2),
            "created": pa.array(seconds, mask=~answers),
            "openai_id": pc.binary_join_element_wise(
                "made-up", self.columns["conversation_hash"].take(of_answers), "-"
            ),
            "temperature": pa.array(ones, mask=~answers),
            "top_p": pa.array(ones, mask=~answers),
            "token_counter": pa.array(pc.binary_length(texts).to_numpy() // 4, mask=~answers),
        }

    @cached_property
    def _at(self) -> Picks:
        """The conversation of each message, as a position in `numbers`."""
        return np.repeat(np.arange(len(self.numbers)), 2 * self._facts.rounds)

    @cached_property
    def _places(self) -> Picks:
        """The place of each message in its conversation."""
        return np.arange(len(self._at)) - self._starts[self._at]

    @cached_property
    def _answers(self) -> NDArray[np.bool_]:
        return self._places % 2 == 1

    def _keys(self, rows: Numbers) -> Numbers:
        return (rows[self._at] * np.uint64(ROOM) + self._places.astype(np.uint64)) * np.uint64(ROOM)

    @property
    def _texts(self) -> pa.StringArray:
        facts, own = self._facts, self._keys(self._facts.same)
        copied = np.where(self._answers, own, self._keys(facts.copied))  # two answers to one question differ
        least, most = np.where(self._answers, np.array([ASSISTANT_BYTES]).T, np.array([USER_BYTES]).T)
        sizes = least * (most / least) ** self.draws.unit(copied, "size")
        alphabets = np.array([alphabet for _, alphabet in LANGUAGES.values()])[facts.languages[self._at]]
        return spoken(self.draws, np.ceil(sizes / PHRASE_BYTES).astype(np.int64), own, copied, alphabets)

    def _verdicts(self, type: pa.StructType) -> pa.StructArray:
        picks = self.draws.whole(self._keys(self._facts.same), "verdict") % np.uint64(VERDICTS)
        return verdicts(type).take(pa.array(picks))


def array_of(known: dict[str, pa.Array], field: pa.Field) -> pa.Array:
    """Return what is known of a field, in its type; null in each row of what nobody knows."""
    if field.name in known:
        return known[field.name].cast(field.type)
    return pa.nulls(len(next(iter(known.values()))), field.type)


def named(names: Collection[str], picks: Picks) -> pa.StringArray:
    """Return the names at these positions."""
    return pa.array(list(names)).take(pa.array(picks))


def hexadecimal(draws: Draws, keys: Numbers, name: str, words: int) -> pa.StringArray:
    """Return for each key a text of 16 hexadecimal digits a word."""
    drawn = np.stack([draws.whole(keys, f"{name} {word}") for word in range(words)], axis=1)
    offsets = np.arange(len(keys) + 1, dtype=np.int32) * (16 * words)
    return pa.StringArray.from_buffers(len(keys), pa.py_buffer(offsets), pa.py_buffer(DIGITS[drawn.view(np.uint8)]))


@cache
def headers() -> pa.StructArray:
    """Return what browsers said of themselves."""
    texts = [
        {"accept-language": "en-US,en;q=0.9", "user-agent": f"Made-up/{number}.0 " + "x" * 80}
        for number in range(AGENTS)
    ]
    return pa.array(texts, SCHEMAS["1m"].field("header").type)


@cache
def verdicts(type: pa.StructType) -> pa.StructArray:
    """Return verdicts on messages to take from: a few flagged, with scores of all sizes."""
    rng = np.random.default_rng(0)

    def values(type: pa.DataType) -> pa.Array:
        if pa.types.is_struct(type):
            return pa.StructArray.from_arrays([values(field.type) for field in type], fields=list(type))
        return pa.array(rng.random(VERDICTS) < FLAGGED if pa.types.is_boolean(type) else rng.random(VERDICTS) ** 8)

    return values(type)
