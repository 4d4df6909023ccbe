"""Builds from real dialogues, with seconds a stage and peak memory, beside a bare DuckDB read, filter and write.

python bench/build.py [SOURCE [RECORDINGS#MODEL]]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SOURCE = SHARED / "wildchat" / "alps_1m"
ANSWERS = f"{SHARED}/alps/recordings.parquet#deepseek-reasoner"
BARE = """
    create table dialogues as
    select conversation_hash, hashed_ip, model, timestamp, language,
        list_transform(conversation, lambda m: struct_pack(role := m.role, content := m.content)) as conversation
    from read_parquet($files)
    where len(conversation) between 6 and 249
"""
LOG = "select name, items_in, rows, dropped, calls, seconds from builds order by position"


def build(home: Path, source: str, answers: str) -> tuple[float, float]:
    """Build with the command; give seconds and the peak of its memory in MiB."""
    command = [str(Path(sys.executable).with_name("alpsbench")), "build", "--home", str(home), "--source", source]
    if answers:
        command += ["--set", f"models.extractor.name=recorded:{answers}"]
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"the build failed with {child.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def read_filter_write(file: Path, source: str) -> tuple[float, int]:
    """Do with DuckDB alone what every build has to do at least; give seconds and rows."""
    found = Path(source)
    files = [str(path) for path in sorted(found.rglob("*.parquet"))] if found.is_dir() else [source]
    started = time.monotonic()
    with duckdb.connect(str(file)) as db:
        db.execute(BARE, {"files": files})
        [(rows,)] = db.execute("select count(*) from dialogues").fetchall()
    return time.monotonic() - started, rows


def main() -> None:
    """Show the stages, the whole, and the bare run."""
    source = sys.argv[1] if len(sys.argv) > 1 else str(SOURCE)
    answers = sys.argv[2] if len(sys.argv) > 2 else ("" if len(sys.argv) > 1 else ANSWERS)
    if not Path(source).exists():
        raise SystemExit(f"no dialogues at {source}: python bench/build.py SOURCE [RECORDINGS#MODEL]")
    with tempfile.TemporaryDirectory(prefix="alpsbench-build-") as folder:
        home = Path(folder, "home")
        whole, mebibytes = build(home, source, answers)
        again, _ = build(home, source, answers)
        bare, kept = read_filter_write(Path(folder, "bare.duckdb"), source)
        with duckdb.connect(str(home / "alpsbench.duckdb"), read_only=True) as db:
            stages = db.execute(LOG).fetchall()
    print(f"{'stage':<22} {'items in':>9} {'rows':>9} {'dropped':>8} {'calls':>7} {'seconds':>8}")
    for name, items_in, rows, dropped, calls, seconds in stages:
        print(f"{name:<22} {items_in or '':>9} {rows:>9} {dropped:>8} {calls:>7} {seconds:>8.2f}")
    in_stages = sum(stage[-1] for stage in stages)
    print(f"\nall stages {in_stages:.1f} s, the whole build {whole:.1f} s, once more unchanged {again:.1f} s")
    print(f"peak memory {mebibytes:,.0f} MiB")
    print(f"bare DuckDB, read, filter and write of {kept:,} dialogues: {bare:.2f} s; ratio {whole / bare:.0f}")


if __name__ == "__main__":
    main()
