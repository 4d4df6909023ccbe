"""`alpsbench gateway`: the models of the catalogue at one address, for memory systems and other people's harnesses."""

import contextlib
import ipaddress
import math
import os
import secrets
import shlex
import signal
import socket
from pathlib import Path

import uvicorn
from filelock import FileLock
from rich.console import Console
from rich.markup import escape

from flows.models import variables
from flows.recipe import Budget
from flows.settings import Settings
from llm.catalogue import entries_of
from llm.endpoint import Endpoint
from llm.endpoint.upstreams import Upstreams
from llm.ledger import NANO, Ledger
from warehouse import BadInputError, Home

STOP_SECONDS = 10
"""How long calls under way may go on after Ctrl-C; a second one ends them at once."""
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that none is closed just when they use it again."""


class Gateway(uvicorn.Server):
    """The HTTP server. It ends when all it began is answered or ended, and in the ledger."""

    def __init__(self, endpoint: Endpoint) -> None:
        # Without an access log: addresses alone would be of no use, and nothing else may stand in one.
        super().__init__(
            uvicorn.Config(
                endpoint.app,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self.endpoint = endpoint

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Settle what is under way before the connections are closed."""
        await self.endpoint.stop(STOP_SECONDS, lambda: self.force_exit)
        await super().shutdown(sockets)
        await self.endpoint.close()


def serve_gateway(
    console: Console, settings: Settings, home: Home, host: str, port: int, max_usd: float | None
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Raises:
        BadInputError: the address is not to be had, or the token, the budget or the catalogue is not right.
    """
    if max_usd is not None and not math.isfinite(max_usd):
        raise BadInputError("--max-usd wants an amount of US dollars")
    home.make()
    token, shown = token_of(home, settings.gateway_token)
    budget = Budget(max_usd=max_usd)
    upstreams = Upstreams(
        entries_of(settings.catalogue), variables(), home.ledger, budget.most_nano_usd, settings.concurrency
    )
    endpoint = Endpoint(upstreams, token)
    listening = listen(host, port)
    if not is_loopback(host):
        console.print(
            f"[yellow]{escape(host)} is no loopback address: whoever has the token can spend from elsewhere[/]"
        )
    tell(console, home, upstreams, url_of(listening), shown, budget)
    # Both signals end in the same way, before, while and after the server listens to them.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        Gateway(endpoint).run(sockets=[listening])
    with contextlib.closing(Ledger(home.ledger)) as ledger:
        spent = ledger.spending().nano_usd / NANO
    console.print(
        f"stopped: {endpoint.attempts:,} calls made, {endpoint.replayed:,} requests answered without one; "
        f"the ledger's spending is ${spent:,.4f}"
    )


def token_of(home: Home, given: str | None) -> tuple[str, str]:
    """Return the token that clients must send, and how it is had in a shell: the given one, or one kept in the home.

    Raises:
        BadInputError: the given one cannot be sent in a header, or none can be kept.
    """
    if token := (given or "").strip():
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise BadInputError("ALPSBENCH_GATEWAY_TOKEN holds characters that no token has")
        return token, "$ALPSBENCH_GATEWAY_TOKEN"
    path = home.root / "gateway_token"
    try:
        return _kept_token(home, path), f"$(cat {shlex.quote(str(path.resolve()))})"
    except OSError as error:
        raise BadInputError(f"cannot keep the gateway's token at {path}: {error.strerror}") from None


def _kept_token(home: Home, path: Path) -> str:
    with FileLock(home.work / "gateway.lock"):  # two that start at once have one token
        if not path.exists() or not path.read_text(encoding="utf-8").strip():
            draft = path.with_suffix(".partial")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(32))
            draft.rename(path)
        return path.read_text(encoding="utf-8").strip()


def listen(host: str, port: int) -> socket.socket:
    """Take an address; port 0 is any free one.

    Raises:
        BadInputError: it is not to be had.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such address"
        raise BadInputError(f"cannot listen on {host} port {port}: {reason}") from None


def url_of(listening: socket.socket) -> str:
    """Return the address that clients are given."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def tell(console: Console, home: Home, upstreams: Upstreams, url: str, shown: str, budget: Budget) -> None:
    """Print where the gateway is, what it serves, and what a client's shell has to say."""
    lines = {
        "gateway": url,
        "models": ", ".join(_names(upstreams, has_key=True)) or "none: set the keys of some, or name a catalogue",
        "without a key": ", ".join(_names(upstreams, has_key=False)),
        "budget": "none: whatever it takes"
        if budget.max_usd is None
        else f"${budget.max_usd:,.2f} for the whole ledger",
        "ledger": str(home.ledger),
    }
    for name, line in lines.items():
        if line:
            console.print(f"[bold]{name:14}[/] {escape(line)}", soft_wrap=True, highlight=False)
    console.print("\nIn the shell of a client; Ctrl-C here ends the gateway:\n")
    console.print(f"export OPENAI_BASE_URL={url}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"export OPENAI_API_KEY={shown}", soft_wrap=True, highlight=False, markup=False)


def _names(upstreams: Upstreams, has_key: bool) -> list[str]:
    return sorted(name for name, entry in upstreams.entries.items() if upstreams.has_key(entry) == has_key)
