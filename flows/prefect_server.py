"""The Prefect server that a build reports to: the one at PREFECT_API_URL, or one of its own for as long as it runs."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse import AlpsbenchError, Home

QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the command line tells what happens, once
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
START_SECONDS = 120
PARENT_DIED = 1
"""Linux's PR_SET_PDEATHSIG."""


class PrefectError(AlpsbenchError):
    """The Prefect server does not come up."""

    exit_code = 7


@contextmanager
def serving(home: Home) -> Iterator[None]:
    """Have a Prefect server to report to; end it by its process id if it is our own.

    Raises:
        PrefectError: our own does not come up.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if os.environ.get("PREFECT_API_URL"):
        yield
        return
    port = _free_port()
    log = home.work / "prefect.log"
    server = _start(home, port, log)
    try:
        url = f"http://127.0.0.1:{port}/api"
        _wait(server, url, log)
        from prefect.settings import PREFECT_API_URL, temporary_settings

        with temporary_settings({PREFECT_API_URL: url}):
            yield
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _start(home: Home, port: int, log: Path) -> "subprocess.Popen[bytes]":
    environment = {
        **os.environ,
        "PREFECT_HOME": str((home.work / "prefect").resolve()),
        "PREFECT_SERVER_UI_ENABLED": "false",
    }
    command = [
        *(sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"),
        *("--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"),
    ]
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the build, which then ends the server
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )


def _die_with_parent() -> None:
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(PARENT_DIED, signal.SIGKILL)


def _wait(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise PrefectError(f"the Prefect server does not come up; see {log}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
