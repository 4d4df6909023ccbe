import os
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.near_duplicates import Listed, near_duplicates
from stages.near_duplicates.buckets import bucketed, pieces_of
from stages.near_duplicates.candidates import Candidates
from stages.near_duplicates.columns import matrix_of
from stages.near_duplicates.equals import first_equals
from stages.near_duplicates.finding import pieces
from stages.near_duplicates.greedy import Greedy
from stages.near_duplicates.sets import Sets
from stages.near_duplicates.sketches import sketch

KNOBS = {"shingle_characters": 4, "threshold": 0.5, "permutations": 128}
TEXTS = st.lists(st.text("abc ", max_size=14), max_size=30)


class Shuffled(Listed):
    """Texts that are given in any order, cut anyhow."""

    def __init__(self, texts, seed):
        super().__init__(texts)
        self.draw = random.Random(seed)

    def chunks(self):
        positions = self.draw.sample(range(len(self.texts)), len(self.texts))
        while positions:
            size = self.draw.randint(1, 7)
            yield super().at(np.array(positions[:size], dtype=np.int64))
            positions = positions[size:]

    def at(self, positions):
        return super().at(np.array(self.draw.sample(positions.tolist(), len(positions)), dtype=np.int64))


class Disorderly:
    """Does the pieces in any order."""

    def __init__(self, pieces, seed=0):
        self.pieces, self.draw = pieces, random.Random(seed)
        self.done = 0

    def each(self, work, pieces, **knobs):
        made = [work(piece, **knobs) for piece in pieces]
        self.done = len(made)
        return iter(self.draw.sample(made, len(made)))


class OverFiles:
    """Writes each piece to a file, and has other processes read it and write what they make of it."""

    def __init__(self, pool, folder):
        self.pool, self.folder, self.pieces = pool, folder, 3

    def each(self, work, pieces, **knobs):
        paths = []
        for number, piece in enumerate(pieces):
            paths.append(str(self.folder / f"{work.__name__}-{number}.parquet"))
            pq.write_table(piece, paths[-1])
        for path in self.pool.map(partial(work_on, work, knobs), paths):
            yield pq.read_table(path)


def work_on(work, knobs, path):
    """Do a piece of work from file to file."""
    pq.write_table(work(pq.read_table(path), **knobs), path + ".made")
    return path + ".made"


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(0, 9), st.integers(1, 5))
def test_order_and_cut_of_the_texts_and_number_of_pieces_make_no_difference(texts, seed, pieces):
    plain = near_duplicates(Listed(texts), **KNOBS)

    assert near_duplicates(Shuffled(texts, seed), **KNOBS, workers=Disorderly(pieces, seed)).equals(plain)


def texts_of(seed, count=400):
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghij", k=4)) for _ in range(40)]
    return [" ".join(draw.choices(words[: draw.choice((5, 40))], k=6)) for _ in range(count)]


def test_processes_that_read_and_write_files_give_the_same(tmp_path):
    texts = texts_of(1)
    plain = near_duplicates(Listed(texts), **KNOBS)
    assert plain.num_rows > 20

    # Spawned ones share nothing with this process, nor its random seed of hashes.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert near_duplicates(Shuffled(texts, 2), **KNOBS, workers=OverFiles(pool, tmp_path)).equals(plain)


@pytest.mark.parametrize("pieces", [1, 4])
def test_there_are_as_many_pieces_as_are_asked_for(pieces):
    draw = random.Random(4)
    texts = ["".join(draw.choices("abcdefghijklmnop", k=30)) for _ in range(40)]
    workers = Disorderly(pieces)

    found = near_duplicates(Listed([*texts, *(text + "q" for text in texts)]), **KNOBS, workers=workers)

    assert found["kept"].to_pylist() == list(range(40))
    assert workers.done == pieces


PROGRAM = """
from stages.near_duplicates import Listed, near_duplicates
texts = ["User likes jazz a lot", "我喜欢在周末去爬山", "user likes jazz a lot!", "User likes jazz, a lot of it"] * 3
print(near_duplicates(Listed(texts), shingle_characters=4, threshold=0.5, permutations=128).to_pylist())
"""


def test_neither_the_process_nor_its_seed_of_hashes_makes_a_difference():
    shown = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Kolkata"))
    }

    assert len(shown) == 1
    assert "'kept': 0, 'member': 2" in shown.pop()


def test_buckets_hold_two_texts_or_more_and_pieces_hold_whole_components():
    keys = np.array([[1, 7], [1, 8], [2, 8], [3, 9], [4, 9], [5, 5]], dtype=np.uint64)

    buckets = bucketed(keys)

    assert buckets.tolist() == [[1, 0], [1, 2], [0, 2], [0, 3], [0, 3], [0, 0]]
    pieces = pieces_of(buckets, np.ones(6, dtype=np.int64), 3, 1)
    assert [piece.tolist() for piece in pieces] == [[0, 1, 2], [3, 4]]
    assert [piece.tolist() for piece in pieces_of(buckets, np.ones(6, dtype=np.int64), 100, 1)] == [[0, 1, 2, 3, 4]]


def test_no_texts_have_no_near_duplicates():
    found = near_duplicates(Listed([]), **KNOBS)

    assert found.num_rows == 0
    assert found.schema.types == [pa.int64(), pa.int64(), pa.float64()]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("ab ", min_size=3, max_size=12), min_size=4, max_size=40), st.integers(1, 12))
def test_it_makes_no_difference_how_many_pairs_are_made_at_a_time(texts, batch):
    knobs = {"shingle_characters": 2, "threshold": 0.5, "permutations": 64}
    sketched = sketch(Listed(texts).at(np.arange(len(texts))), **knobs)
    made = {name: matrix_of(sketched, name) for name in sketched.column_names}

    for piece in pieces(Listed(texts), made, first_equals(made["digest"]), 1):
        sets = Sets(piece["text"], 2, matrix_of(piece, "signature"))
        buckets, last = matrix_of(piece, "buckets"), np.full(len(piece), len(piece))
        whole, parted = (Greedy(one, sets, 0.5) for one in (Candidates(buckets), Candidates(buckets, batch)))
        assert parted.is_member.tolist() == whole.is_member.tolist()
        likes = [sorted(zip(*(column.tolist() for column in one.likes(last)), strict=True)) for one in (whole, parted)]
        assert likes[0] == likes[1]
