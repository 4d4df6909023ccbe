"""Kills a sample build in each of its stages, and shows whether it goes on to the same release.

One home is killed in the first stage, started again and killed in the second, and so on. After each kill a
copy of it is built to the end, and its release compared with that of a build that nobody killed.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

SECRET = "bench"
LOG = "select name, seconds from builds order by position"


class Fatal:
    """A watcher that kills its own process in the middle of one stage."""

    def __init__(self, stage: str, seconds: float) -> None:
        self.stage, self.seconds = stage, seconds

    def starting(self) -> None:
        return

    def started(self, name: str) -> None:
        if name == self.stage:
            threading.Timer(self.seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def counted(self, name: str, done: int, total: int) -> None:
        return

    def finished(self, name: str, rows: int | None, dropped: int, seconds: float) -> None:
        return


def die_in(home_path: str, stage: str, seconds: float) -> None:
    """Build the sample as the command does, up to the middle of a stage."""
    from flows.command import job_of
    from flows.recipe_file import read_recipe
    from flows.run import run
    from flows.settings import Settings
    from flows.sources import SAMPLE
    from warehouse import Home

    home = Home(Path(home_path))
    home.make()
    with home.building():
        recipe = read_recipe(SAMPLE / "recipe.toml")
        run(job_of(Settings(), home, SAMPLE, recipe, None, "draft"), Fatal(stage, seconds))


def build(home: Path) -> float:
    """Build the sample to its end; give the seconds that it took."""
    started = time.monotonic()
    command = [str(Path(sys.executable).with_name("alpsbench")), "build", "--home", str(home)]
    subprocess.run(command, env=os.environ | {"ALPSBENCH_SECRET": SECRET}, check=True, capture_output=True, timeout=300)
    return time.monotonic() - started


def kill(home: Path, stage: str, seconds: float) -> None:
    """Build until the middle of a stage."""
    command = [sys.executable, __file__, str(home), stage, str(seconds)]
    ended = subprocess.run(command, env=os.environ | {"ALPSBENCH_SECRET": SECRET}, timeout=300)
    if ended.returncode != -signal.SIGKILL:
        raise SystemExit(f"the build ended by itself ({ended.returncode}) before it could be killed in {stage}")


def release_of(home: Path) -> dict[str, str]:
    """Give the SHA-256 of every file of the release."""
    folder = home / "releases" / "draft"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main() -> None:
    """Show one line a stage."""
    with tempfile.TemporaryDirectory(prefix="alpsbench-kills-") as folder:
        whole, victim, copy = Path(folder, "whole"), Path(folder, "victim"), Path(folder, "copy")
        print(f"undisturbed: {build(whole):.1f} s")
        release = release_of(whole)
        with duckdb.connect(str(whole / "alpsbench.duckdb"), read_only=True) as db:
            stages = db.execute(LOG).fetchall()
        print(f"\n{'stage':<22} {'killed after':>12} {'to finish':>10}  release")
        identical = 0
        for stage, seconds in stages:
            kill(victim, stage, seconds / 2)
            shutil.copytree(victim, copy)
            took = build(copy)
            same = release_of(copy) == release
            identical += same
            shutil.rmtree(copy)
            print(
                f"{stage:<22} {seconds / 2:>10.2f} s {took:>8.1f} s  {'identical' if same else 'DIFFERS'}", flush=True
            )
        took = build(victim)
        same = release_of(victim) == release
        print(f"{'killed in all of them':<22} {'':>12} {took:>8.1f} s  {'identical' if same else 'DIFFERS'}")
        print(f"\n{identical} of {len(stages)} releases identical, {len(release)} files each")
        if not same or identical < len(stages):
            raise SystemExit(1)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        die_in(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    else:
        main()
