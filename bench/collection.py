"""Measures collection, from shards to `dialogues`, beside one DuckDB query that makes the same table.

python bench/collection.py [--conversations 1000000] [--repeats 3]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from wildchat import Corpus

A_SHARD = 50_000
SIZES = (50_000, 100_000, 200_000, 1_000_000)
MEASURED = ("seconds", "cpu_seconds", "mebibytes")
HEADINGS = ("rows", "kept", "rows/s", "MiB", "bare", "s", "bare", "ratio", "CPU", "µs/row")
Measures = dict[str, Any]


def measure(way: str, source: Path, place: Path) -> Measures:
    """Collect once in a process of its own, and remove what it made."""
    command = [sys.executable, str(Path(__file__).with_name("collecting.py")), way, str(source), str(place)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(place)
    measures: Measures = json.loads(ended.stdout.splitlines()[-1])
    return measures


def compare(source: Path, place: Path, repeats: int) -> tuple[Measures, Measures]:
    """Collect in turns, so that a busy moment strikes both; give the medians of ours and of the query.

    Raises:
        SystemExit: they have not made the same dialogues, but for the repeated rows that the query keeps.
    """
    ours, bare = [], []
    for _ in range(repeats):
        ours.append(measure("ours", source, place))
        bare.append(measure("bare", source, place))
    if (ours[0]["rows"], ours[0]["texts"]) != (bare[0]["dialogues"], bare[0]["texts"]):
        raise SystemExit(f"{ours[0]['rows']:,} dialogues; the query has {bare[0]['dialogues']:,}, or other texts")
    return median(ours), median(bare)


def median(runs: list[Measures]) -> Measures:
    """Return the median of each figure, and the rest of the first run."""
    return runs[0] | {name: statistics.median(run[name] for run in runs) for name in MEASURED}


def link(shards: list[Path], folder: Path) -> Path:
    """Make a source of some of the shards, without copying them."""
    folder.mkdir()
    for shard in shards:
        os.link(shard, folder / shard.name)
    return folder


def command(source: Path, home: Path) -> float:
    """Run the whole command once, server, publishing and Data Docs included; give its seconds."""
    build = [str(Path(sys.executable).with_name("alpsbench")), "build", "--until", "dialogues"]
    started = time.monotonic()
    subprocess.run([*build, "--home", str(home), "--source", str(source)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def row_of(size: int, ours: Measures, bare: Measures) -> list[str]:
    """Return the figures of one size as they are shown."""
    seconds, query = ours["seconds"], bare["seconds"]
    counts = [size, ours["rows"], size / seconds, ours["mebibytes"], bare["mebibytes"]]
    times = [seconds, query, seconds / query, ours["cpu_seconds"] / bare["cpu_seconds"], 1e6 * seconds / size]
    return [*(f"{count:,.0f}" for count in counts), *(f"{taken:.2f}" for taken in times)]


def show_parts(console: Console, profiled: Measures) -> None:
    """Show where the time of each stage goes; a file that is closed is checkpointed by whoever closes it, itself."""
    for stage, seconds in profiled["stages"].items():
        grid = Table(f"{stage}, profiled: {seconds:.2f} s", "with what it calls", "by itself", box=None)
        for part, whole, itself in profiled["parts"][stage]:
            grid.add_row(part, f"{whole:.2f}", f"{itself:.2f}")
        console.print(grid, "")


def measure_all(console: Console, folder: Path, conversations: int, repeats: int) -> None:
    """Write the conversations, and show the figures of each size up to them; smaller ones are the first shards."""
    started = time.monotonic()
    shards = Corpus(conversations, max(1, conversations // A_SHARD)).write(folder / "all")
    megabytes = sum(shard.stat().st_size for shard in shards) / 1e6
    console.print(
        f"{conversations:,} conversations, {megabytes:,.0f} MB, written in {time.monotonic() - started:.0f} s"
    )
    grid, home = Table(*HEADINGS, box=None), folder / "home"
    for size in (*(size for size in SIZES if size < conversations), conversations):
        source = link(shards[: max(1, size // A_SHARD)], folder / str(size))
        ours, bare = compare(source, home, repeats)
        grid.add_row(*row_of(size, ours, bare))
    console.print(f"Median of {repeats}, in turns; bare is the query, CPU the ratio of processor time:", grid, "")
    show_parts(console, measure("profiled", source, home))
    if apart := set(ours["columns"]) ^ set(bare["columns"]):
        console.print(f"only one of the two tables has: {', '.join(sorted(apart))}")
    console.print(
        f"not in these figures: imports {ours['imports']:.1f} s, SHA-256 of the source {ours['hashes']:.1f} s"
    )
    console.print(f"alpsbench build --until dialogues, once, with all that it does: {command(source, home):.1f} s")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Measures collection beside one DuckDB query.")
    parser.add_argument("--conversations", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alpsbench-collection-") as folder:
        measure_all(Console(), Path(folder), options.conversations, options.repeats)


if __name__ == "__main__":
    main()
