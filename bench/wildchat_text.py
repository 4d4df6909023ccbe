"""Texts of made-up words: each is a whole number of phrases of 24 bytes, drawn from a table for its alphabet."""

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from wildchat_draws import Draws, Numbers, Picks

PHRASE_BYTES = 24
PHRASES = 65_536
WORDS = 2_000
LATIN, CYRILLIC, ARABIC, CHINESE = range(4)
LETTERS = {
    LATIN: ("bcdfghjklmnprstvw", "aeiou"),
    CYRILLIC: ("бвгджзклмнпрстфх", "аеиоуыя"),
    ARABIC: ("بتجدرسعفقكلمنه", "اوي"),
    CHINESE: tuple("".join(map(chr, range(start, start + 900))) for start in (0x4E00, 0x5300)),
}
# Letters of the words of a phrase; with one byte after each they make PHRASE_BYTES.
LENGTHS = {
    LATIN: ((7, 5, 9), (3, 6, 2, 9), (4, 1, 8, 7)),
    CYRILLIC: ((5, 6), (3, 8), (9, 2)),
    ARABIC: ((5, 6), (3, 8), (7, 4)),
    CHINESE: ((7,),),
}
ENDS = dict.fromkeys(LETTERS, "   \n") | {CHINESE: "，。的，"}
CONTROL = b"\x07"
ROOM = 1024
"""More phrases than any message has, and more messages than any conversation."""
EDITED = 25
"""One phrase in so many is another one in a near-copy."""


def spoken(draws: Draws, counts: Picks, own: Numbers, copied: Numbers, alphabets: Picks) -> pa.StringArray:
    """Return a text for each message.

    Args:
        draws: Where the phrases come from.
        counts: How many phrases each message has.
        own: A key of the message; none of the `ROOM` - 1 numbers after it is another's key.
        copied: The key of the message that it is a near-copy of; its own if it is none.
        alphabets: The alphabet of each message.
    """
    starts = np.concatenate(([0], np.cumsum(counts)))
    message = np.repeat(np.arange(len(counts)), counts)
    place = (np.arange(starts[-1]) - starts[message]).astype(np.uint64)
    keys = copied[message] + place
    [copies] = np.nonzero((own != copied)[message])
    edited = copies[draws.whole(own[message[copies]] + place[copies], "edit") % np.uint64(EDITED) == 0]
    keys[edited] = own[message[edited]] + place[edited]
    share = draws.unit(keys, "phrase")
    phrases = (share * share * PHRASES).astype(np.int64) + alphabets[message] * PHRASES  # squared: some are frequent
    text = np.take(table(draws.seed), phrases, axis=0)
    offsets = (starts * PHRASE_BYTES).astype(np.int32)
    return pa.StringArray.from_buffers(len(counts), pa.py_buffer(offsets), pa.py_buffer(text))


@cache
def table(seed: int) -> NDArray[np.uint64]:
    """Return the phrases of all alphabets one after the other, each as PHRASE_BYTES / 8 numbers."""
    rng = np.random.default_rng(seed)
    phrases = [phrase for alphabet in LETTERS for phrase in phrases_of(rng, alphabet)]
    return np.frombuffer(b"".join(phrases), dtype=np.uint64).reshape(-1, PHRASE_BYTES // 8)


def phrases_of(rng: np.random.Generator, alphabet: int) -> list[bytes]:
    """Return the phrases of one alphabet; the rarest of them has a control character."""
    vocabulary = {length: words_of(rng, alphabet, length) for lengths in LENGTHS[alphabet] for length in lengths}
    picks = rng.integers(0, WORDS, (PHRASES, 4))
    phrases = []
    for number, places in enumerate(picks.tolist()):
        lengths = LENGTHS[alphabet][number % len(LENGTHS[alphabet])]
        words = [vocabulary[length][place] for length, place in zip(lengths, places, strict=False)]
        phrases.append((" ".join(words) + ENDS[alphabet][places[3] % 4]).encode())
    phrases[-1] = CONTROL + phrases[-1][1:] if alphabet == LATIN else phrases[-1]
    return phrases


def words_of(rng: np.random.Generator, alphabet: int, length: int) -> list[str]:
    """Return made-up words of so many letters, in turn of the first and the second kind."""
    kinds = [np.array(list(letters)) for letters in LETTERS[alphabet]]
    columns = [rng.choice(kinds[place % 2], WORDS) for place in range(length)]
    return ["".join(word) for word in zip(*columns, strict=True)]
