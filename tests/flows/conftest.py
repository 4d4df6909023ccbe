"""Runs `alpsbench` as a user does, and builds the sample once for all who look at what came of it."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

SECRET = "a-secret-that-stands-in-no-file"
FOREIGN = ("ALPSBENCH_", "PREFECT_", "DEEPSEEK_", "OPENAI_")
Finished = subprocess.CompletedProcess[str]
Hashes = Callable[[Path], dict[str, str]]


class Alpsbench:
    """The installed command, in a folder without a `.env`, with an environment that tells it nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: list[subprocess.Popen[str]] = []

    def start(self, *words: object, **settings: object) -> "subprocess.Popen[str]":
        """Start it; it is killed at the end of the test if it still runs."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        given = {"ALPSBENCH_SECRET": SECRET} | {name: str(value) for name, value in settings.items()}
        child = subprocess.Popen(
            [str(Path(sys.executable).with_name("alpsbench")), *map(str, words)],
            cwd=self.folder,
            env=environment | given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.children.append(child)
        return child

    def __call__(self, *words: object, seconds: float = 300, **settings: object) -> Finished:
        """Run it to its end."""
        child = self.start(*words, **settings)
        output, errors = child.communicate(timeout=seconds)
        return Finished(child.args, child.returncode, output, errors)

    def succeed(self, *words: object, seconds: float = 300, **settings: object) -> str:
        """Run it to a good end, and give what it wrote."""
        finished = self(*words, seconds=seconds, **settings)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def end(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()


@pytest.fixture
def stage_of(tmp_path: Path) -> Iterator[Callable[[str, str], Callable[..., Any]]]:
    """Make a stage: `stage_of("people", code)` writes `people.py` into a folder of its own and imports it."""
    modules: list[str] = []

    def stage(name: str, code: str) -> Callable[..., Any]:
        module = f"{tmp_path.name}_{len(modules)}_{name}"
        file = tmp_path / module / f"{name}.py"
        file.parent.mkdir()
        file.write_text(code, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(module, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[module] = importlib.util.module_from_spec(spec)
        modules.append(module)
        spec.loader.exec_module(sys.modules[module])
        made: Callable[..., Any] = getattr(sys.modules[module], name)
        return made

    yield stage
    for module in modules:
        del sys.modules[module]


@pytest.fixture
def alpsbench(tmp_path: Path) -> Iterator[Alpsbench]:
    """The command; `alpsbench("sql", "from funnel", "--home", home)` runs it."""
    folder = tmp_path / "here"
    folder.mkdir()
    command = Alpsbench(folder)
    yield command
    command.end()


@pytest.fixture(scope="session")
def command_of() -> Iterator[Callable[[Path], Alpsbench]]:
    """The command, in a folder that outlives a test."""
    commands: list[Alpsbench] = []

    def command(folder: Path) -> Alpsbench:
        commands.append(Alpsbench(folder))
        return commands[-1]

    yield command
    for each in commands:
        each.end()


@pytest.fixture(scope="session")
def built_once(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[[str, Callable[[Path], str]], Path]:
    """Build a home once for all workers: `built_once("sample", build)` keeps what `build(home)` says beside it."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def built(name: str, build: Callable[[Path], str]) -> Path:
        home = shared / f"{name} home"  # with a blank, as paths of users have them
        log = home.with_suffix(".log")
        with FileLock(shared / f"{name}.lock"):
            if not log.exists():
                log.write_text(build(home), encoding="utf-8")
        return home

    return built


@pytest.fixture(scope="session")
def sample_home(
    command_of: Callable[[Path], Alpsbench], built_once: Callable[[str, Callable[[Path], str]], Path]
) -> Path:
    """The home of a real sample build: look at it, change nothing."""
    return built_once("sample", lambda home: command_of(home.parent).succeed("build", "--home", home))


@pytest.fixture
def home(sample_home: Path, tmp_path: Path) -> Path:
    """A copy of the sample's home, to do with as one likes."""
    copy = tmp_path / "home"
    shutil.copytree(sample_home, copy, ignore=shutil.ignore_patterns("prefect", "data_docs"))
    shutil.copytree(sample_home / "data_docs", copy / "data_docs")
    return copy


@pytest.fixture(scope="session")
def hashes_of() -> Hashes:
    """Give the SHA-256 of every file below a folder, by its path there."""

    def hashes(folder: Path) -> dict[str, str]:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    return hashes


@pytest.fixture(scope="session")
def lines_of() -> Callable[[Path], list[dict[str, Any]]]:
    """Read JSON lines, each with the standard library's reader."""
    return lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
