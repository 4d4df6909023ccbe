"""Measures near-duplicates of a million made-up memories: seconds, peak memory, pairs checked, planted pairs found.

python bench/near_duplicates.py [TEXTS [THRESHOLD]]

What finds them runs in a process of its own. datasketch's update and insert run on a part of the same texts, and the
seconds are multiplied up.
"""

import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

import pyarrow as pa
from datasketch import MinHash, MinHashLSH

from stages.near_duplicates import Listed, jaccard, near_duplicates, shingles_of
from stages.near_duplicates.bands import choose_bands

TEXTS = 1_000_000
THRESHOLD = 0.8
CHARACTERS = 4
PERMUTATIONS = 128
REFERENCE = 10_000
"""So many texts datasketch is measured on."""
OPENINGS = (
    *("User likes", "User is planning to", "User wants to learn about", "User lives near", "User has a brother who"),
    *("User works as", "User is curious about", "User dislikes", "User's daughter studies", "User recently bought"),
)
FRAME = "User asks for a product description of about two hundred words for a new {} and a question to end it with"
Made = TypeVar("Made")


def memories(total: int) -> tuple[list[str], list[tuple[int, int]]]:
    """Make texts up in a mixed order, and name pairs, by position, of which one was made from the other.

    Seven in ten are sentences of their own, of them one in fourteen Chinese and one in a hundred a single word. A tenth
    are two groups of equal ones; a tenth have only case or marks changed, a twentieth a word or letters; a twentieth
    fill one template.
    """
    draw = random.Random(11)
    words = ["".join(draw.choices("aeioubcdfglmnprst", k=draw.randint(2, 9))) for _ in range(30_000)]
    twentieth = total // 20
    base = sentences(draw, words)
    texts = [base() for _ in range(total - 6 * twentieth)]
    planted = []
    for change in (str.upper, lambda text: f"«{text}»!", lambda text: changed(draw, words, text)):
        for _ in range(twentieth):
            origin = draw.randrange(total // 2)
            planted.append((origin, len(texts)))
            texts.append(change(texts[origin]))
    texts += [FRAME.format(draw.choice(words)) for _ in range(twentieth)]
    texts += ["User likes jazz"] * twentieth + ["User lives in a small town by the sea with two old cats"] * twentieth
    order = draw.sample(range(total), total)
    places = {origin: place for place, origin in enumerate(order)}
    pairs = [(places[one], places[other]) for one, other in planted]
    return [texts[origin] for origin in order], [(min(pair), max(pair)) for pair in pairs]


def sentences(draw: random.Random, words: Sequence[str]) -> Callable[[], str]:
    """Return what makes a sentence up; some words are frequent."""
    weights = [1 / rank for rank in range(10, 10 + len(words))]
    common = draw.choices(words, weights, k=1_000_000)
    signs = [chr(draw.randint(0x4E00, 0x6FFF)) for _ in range(2_000)]

    def make() -> str:
        kind = draw.random()
        if kind < 0.01:
            return draw.choice(words)
        if kind < 0.08:
            return "".join(draw.choices(signs, k=draw.randint(8, 40))) + "。"
        start = draw.randrange(len(common) - 20)
        return " ".join([draw.choice(OPENINGS), *common[start : start + draw.randint(4, 13)]]) + "."

    return make


def changed(draw: random.Random, words: Sequence[str], text: str) -> str:
    """Return a text with some letters or a word changed."""
    if draw.random() < 0.5:
        place = draw.randrange(len(text))
        return text[:place] + draw.choice(words)[:2] + text[place + draw.randint(0, 2) :]
    parts = text.split(" ")
    parts[draw.randrange(len(parts))] = draw.choice(words)
    return " ".join(parts)


def found(total: int, threshold: float) -> tuple[pa.Table, float, float]:
    """Find near-duplicates; give them, the seconds it took, and the peak of this process's memory in MiB.

    The texts are made in this process, so that their memory counts.
    """
    texts, _ = memories(total)
    knobs: dict[str, Any] = {"threshold": threshold, "shingle_characters": CHARACTERS, "permutations": PERMUTATIONS}
    started = time.monotonic()
    likes = near_duplicates(Listed(texts), **knobs)
    return likes, time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_datasketch(total: int, threshold: float) -> float:
    """Sketch a part of the texts n-gram by n-gram and insert them; give the seconds that all would take."""
    texts, _ = memories(total)
    part = texts[:REFERENCE]
    bands = choose_bands(threshold, PERMUTATIONS)
    lsh = MinHashLSH(num_perm=PERMUTATIONS, params=(bands.count, bands.rows))
    started = time.monotonic()
    for position, text in enumerate(part):
        sketch = MinHash(num_perm=PERMUTATIONS)
        for shingle in shingles_of(text, CHARACTERS):
            sketch.update(shingle.encode())
        lsh.insert(position, sketch)
    return (time.monotonic() - started) * total / len(part)


def alone(function: Callable[..., Made], *values: Any) -> Made:
    """Call a function in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *values).result()


def similarity(texts: Sequence[str], one: int, other: int) -> float:
    """Compare two texts as sets."""
    return jaccard(shingles_of(texts[one], CHARACTERS), shingles_of(texts[other], CHARACTERS))


def main() -> None:
    """Show the figures; end with 1 if a pair is wrong."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else TEXTS
    threshold = float(sys.argv[2]) if len(sys.argv) > 2 else THRESHOLD
    likes, seconds, mebibytes = alone(found, total, threshold)
    reference = alone(by_datasketch, total, threshold)
    texts, planted = memories(total)
    median = statistics.median(map(len, texts))
    print(f"{total:,} texts, median {median:.0f} characters, threshold {threshold:g}")
    print(f"{seconds:.1f} s, peak memory {mebibytes:,.0f} MiB")
    print(
        f"datasketch update and insert: {reference:,.0f} s, from {REFERENCE:,} texts; {reference / seconds:.0f} times"
    )
    rows = list(zip(*(likes[name].to_pylist() for name in likes.column_names), strict=True))
    wrong = sum(similarity(texts, one, other) != claimed for one, other, claimed in rows)
    members = set(likes["member"].to_pylist())
    print(
        f"{len(members):,} near-duplicates, like {len(rows):,} kept texts; {wrong} of these similarities are not exact"
    )
    pairs = {(one, other) for one, other, _ in rows}
    due = [pair for pair in planted if pair[0] not in members and similarity(texts, *pair) >= threshold]
    hit = sum(pair in pairs for pair in due)
    print(
        f"of {len(due):,} planted pairs at the threshold or above whose first is kept, {hit / len(due):.3%} are found"
    )
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
