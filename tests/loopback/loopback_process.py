"""Starts the loopback server as a process of its own, and steers it: nothing but the standard library."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import Request, urlopen

SERVER = Path(__file__).with_name("loopback_server.py")


class Loopback:
    """A running server; `url` ends in /v1. Use it in a `with`, or call `stop`."""

    def __init__(self, key: str | None = None) -> None:
        """Start it, and wait until it can be called; with `key`, it wants that as the bearer token.

        Raises:
            RuntimeError: it did not start.
        """
        command = [sys.executable, str(SERVER), "--port", "0", "--parent", str(os.getpid())]
        self.process = subprocess.Popen(
            [*command, *(["--key", key] if key else [])], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.stop()
            raise RuntimeError("the loopback server did not start")

    def plan(self, **plan: Any) -> dict[str, Any]:
        """Replace the plan by this one; what is not named is as in a plan that says nothing. Returns it whole.

        Raises:
            urllib.error.HTTPError: 400, a name is unknown.
        """
        return self._call("/control", plan)

    def seen(self) -> dict[str, Any]:
        """Return {"identities": {identity: [attempt, ...]}, "totals": {...}}."""
        return self._call("/control/seen")

    def totals(self) -> dict[str, Any]:
        """Return the totals alone."""
        return self._call("/control/seen?totals=1")

    def reset(self) -> None:
        """Forget all that was seen, all files and batches; the plan stays and begins anew."""
        self._call("/control/reset", {})

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _call(self, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        address = self.url.removesuffix("/v1") + path
        with urlopen(Request(address, data, {"Content-Type": "application/json"}), timeout=60) as response:
            found: dict[str, Any] = json.load(response)
        return found
