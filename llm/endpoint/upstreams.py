"""The servers behind the gateway: one for each model of the catalogue, opened when it is first asked for."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from llm.attempts import Reply
from llm.catalogue import Entry
from llm.endpoint.refusals import RefusedError, stop_of, wrong
from llm.errors import BudgetError, ModelError
from llm.ledger import Intent, Ledger
from llm.meter import Meter, Terms
from llm.pace import Pace, Patience
from llm.wire import Wire

Send = Callable[[], Awaitable[Reply]]


@dataclass(frozen=True)
class Label:
    """What stands in the ledger beside a call: what it was for, and about whom."""

    prompt: str
    subject: str


class Upstream:
    """A model's server, and the meter of all calls to it."""

    def __init__(self, entry: Entry, wire: Wire, meter: Meter[Reply]) -> None:
        self.entry = entry
        self.wire = wire
        self.meter = meter
        self.takes_base64 = True

    async def call(self, key: str, label: Label, most_nano_usd: int, send: Send) -> Reply:
        """Send until there is an answer, or a failure that does not pass.

        Raises:
            RefusedError: the money is out, or the server cannot be used at all.
        """
        intent = Intent(key, self.entry.name, label.prompt, label.subject, "served", most_nano_usd)
        last: list[Reply] = []

        def read(reply: Reply) -> Reply:
            last[:] = [reply]
            return reply

        try:
            reply, _ = await self.meter.call(intent, send, read)
        except BudgetError as error:
            raise RefusedError(402, "budget_exhausted", str(error), is_final=True) from None
        except ModelError as error:
            raise stop_of(str(error), last[0] if last else None) from None
        return reply

    async def close(self) -> None:
        """Wait until all is written down, and let go of the connections."""
        await self.meter.close()
        await self.wire.close()


class Upstreams:
    """Every model by name. Those at one address share its pace; each writes through a connection of its own."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        variables: Mapping[str, str | None],
        ledger: Path,
        most_nano_usd: int | None = None,
        concurrency: int | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Name the models, the variables that hold their keys, and the ledger with what it may spend in all."""
        self.entries = entries
        self.variables = variables
        self.ledger = ledger
        self.most_nano_usd = most_nano_usd
        self.concurrency = concurrency
        self.patience = patience or Patience()
        self.paces: dict[str, Pace] = {}
        self.opened: dict[str, Upstream] = {}

    def has_key(self, entry: Entry) -> bool:
        """Say whether a model can be asked: its key is there, or its server wants none."""
        return entry.key_variable is None or bool(self._key_of(entry))

    def of(self, name: object, kind: str) -> Upstream:
        """Return the server of a model.

        Raises:
            RefusedError: there is no such model of that kind, or it cannot be asked as the gateway is set up.
        """
        if not isinstance(name, str):
            raise wrong("model: wants the name of a model", "model")
        entry = self.entries.get(name)
        if entry is None or entry.kind != kind:
            known = ", ".join(sorted(other.name for other in self.entries.values() if other.kind == kind)) or "none"
            message = f"the catalogue has no model of that name for {kind}; there are: {known}"
            raise RefusedError(404, "model_not_found", message, "model")
        if name not in self.opened:
            self.opened[name] = self._open(entry)
        return self.opened[name]

    def _open(self, entry: Entry) -> Upstream:
        if not self.has_key(entry):
            message = f"the gateway has no key for {entry.name}: set {entry.key_variable} where it runs"
            raise RefusedError(502, "upstream_key_missing", message, is_final=True)
        pace = self.paces.setdefault(entry.url, Pace(self.concurrency or entry.concurrency))
        terms = Terms(is_paid=True, price=entry.price, pace=pace, patience=self.patience)
        try:
            wire = Wire(entry, self._key_of(entry))
            return Upstream(entry, wire, Meter(Ledger(self.ledger), terms, self.most_nano_usd))
        except BudgetError as error:
            raise wrong(str(error), "model", "model_without_price") from None
        except ModelError as error:
            raise RefusedError(502, "upstream_key_unusable", str(error), is_final=True) from None

    def _key_of(self, entry: Entry) -> str | None:
        return self.variables.get(entry.key_variable) if entry.key_variable else None

    async def close(self) -> None:
        """Wait until all is written down, and let go of all connections."""
        for upstream in self.opened.values():
            await upstream.close()
