"""A second process, for what only two can show."""

import contextlib
import subprocess
import sys
from typing import Any

import pytest

from warehouse import Home


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "a home's folder, locked")
    home.make()
    return home


@pytest.fixture
def meanwhile():
    """Run Python beside this one: `with meanwhile("...", argument) as process:`; it is in the middle once it prints.

    It reads a line before it ends, which `process.go_on()` gives it.
    """

    @contextlib.contextmanager
    def run(code, *arguments):
        command = [sys.executable, "-c", f"import sys\n{code}", *map(str, arguments)]
        process: Any
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

            def go_on():
                process.stdin.write("\n")
                process.stdin.flush()

            process.go_on = go_on
            try:
                assert process.stdout.readline(), "the other process did not get that far"
                yield process
            finally:
                process.kill()

    return run
