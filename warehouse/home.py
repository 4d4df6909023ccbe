"""The folder that holds everything a build makes, and where each thing is in it."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from warehouse.errors import BadInputError, BusyError


@dataclass(frozen=True)
class Home:
    """A home: the published database, the files that a build writes, and the releases."""

    root: Path

    @property
    def published(self) -> Path:
        """The database that people open: a read-only copy, replaced whole."""
        return self.root / "alpsbench.duckdb"

    @property
    def work(self) -> Path:
        """The folder of the writing database, the ledger and caches."""
        return self.root / ".build"

    @property
    def warehouse(self) -> Path:
        """The database that builds write; nobody else opens it."""
        return self.work / "warehouse.duckdb"

    @property
    def ledger(self) -> Path:
        """Every model call, in SQLite."""
        return self.work / "ledger.sqlite"

    @property
    def reports(self) -> Path:
        """What the contract checks of each table found, one JSON file a table."""
        return self.work / "checks"

    @property
    def finished(self) -> Path:
        """The tables that are published and documented, by fingerprint: written as the last step of a build."""
        return self.work / "finished.json"

    @property
    def releases(self) -> Path:
        """One folder a benchmark version."""
        return self.root / "releases"

    @property
    def data_docs(self) -> Path:
        """The contracts and what checking them found, as a site."""
        return self.root / "data_docs"

    def make(self) -> None:
        """Create the folders of a home on first use.

        Raises:
            BadInputError: the place is a file, or not writable.
        """
        try:
            self.work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInputError(f"cannot make the home {self.root}: {error.strerror}") from None

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold the home for one build; the lock goes with the process, however that ends.

        Raises:
            BusyError: another build holds it.
            BadInputError: this user may not write there.
        """
        lock = FileLock(self.work / "build.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            message = f"another build is running in {self.root}; wait for it, or give another --home"
            raise BusyError(message) from None
        except OSError as error:
            raise BadInputError(f"cannot write in the home {self.root}: {error.strerror}") from None
        try:
            yield
        finally:
            lock.release()

    def secret(self, given: str | None = None) -> str:
        """Return the secret that makes user ids: the given one, or the home's own, made once.

        Raises:
            BadInputError: the given one is another than the home was built with, or the home's own is gone.
        """
        path, given = self.root / "secret", (given or "").strip()
        known = self.work / "secret.sha256"
        if not path.exists():
            if not given and known.exists():
                raise BadInputError(
                    f"{path} is gone, and with it all user ids: put it back, or give it as ALPSBENCH_SECRET; "
                    f"to begin anew with other ids, remove {known}"
                )
            draft = path.with_suffix(".partial")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(given or secrets.token_hex(32))
            draft.rename(path)
        kept = path.read_text(encoding="utf-8").strip()
        if given and given != kept:
            raise BadInputError(
                f"ALPSBENCH_SECRET is not the secret that {self.root} was built with; unset it or use another home"
            )
        self.work.mkdir(exist_ok=True)
        known.write_text(hashlib.sha256(kept.encode()).hexdigest(), encoding="utf-8")
        return kept


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
