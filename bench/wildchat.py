"""Writes made-up conversations in the forms of WildChat, in Parquet shards or JSON lines.

python bench/wildchat.py FOLDER --conversations 200000 --shards 4 [--form v1|1m|4.8m] [--json-lines] [--shuffled]

A row is the same whatever the number of shards, of rows and of processes. In a hundred rows one repeats an
earlier one, and two are near-copies of earlier ones: the user's words with one phrase in 25 changed, other answers.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq
from wildchat_draws import Draws, Numbers
from wildchat_rows import Rows
from wildchat_schemas import SCHEMAS

BLOCK = 2000
ROWS_A_GROUP = 1000
"""As the published shards have them."""


@dataclass(frozen=True)
class Corpus:
    """So many conversations in so many shards; `shuffled` changes their order and nothing else."""

    conversations: int
    shards: int = 1
    form: str = "1m"
    seed: int = 0
    shuffled: bool = False
    json_lines: bool = False

    def write(self, folder: Path, processes: int = 2) -> list[Path]:
        """Write all shards and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        ending = "jsonl" if self.json_lines else "parquet"
        paths = [folder / f"train-{shard:05}-of-{self.shards:05}.{ending}" for shard in range(self.shards)]
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            list(pool.map(self.write_shard, range(self.shards), paths))
        return paths

    def rows_of(self, shard: int) -> Numbers:
        """Return the numbers of the rows of a shard, in the order that they stand there."""
        in_order: Numbers = np.arange(self.conversations, dtype=np.uint64)
        rows = np.random.default_rng(self.seed).permutation(in_order) if self.shuffled else in_order
        return np.array_split(rows, self.shards)[shard]

    def write_shard(self, shard: int, path: Path) -> None:
        """Write one shard, a block at a time."""
        rows = self.rows_of(shard)
        blocks = (Rows(Draws(self.seed), rows[at : at + BLOCK], self.form).table() for at in range(0, len(rows), BLOCK))
        if self.json_lines:
            with path.open("wb") as file:
                for block in blocks:
                    file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in block.to_pylist())
            return
        with pq.ParquetWriter(path, SCHEMAS[self.form]) as writer:
            for block in blocks:
                writer.write_table(block, row_group_size=ROWS_A_GROUP)


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description="Writes made-up conversations in the forms of WildChat.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--conversations", type=int, default=200_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--form", choices=sorted(SCHEMAS), default="1m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shuffled", action="store_true", help="in another order")
    parser.add_argument("--json-lines", action="store_true")
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    started = time.monotonic()
    paths = Corpus(**options).write(folder)
    size = sum(path.stat().st_size for path in paths)
    seconds = time.monotonic() - started
    print(f"{options['conversations']:,} conversations, {size / 1e6:,.0f} MB, {seconds:.1f} s")


if __name__ == "__main__":
    main()
