"""The files of a dataset at a commit, those that are in the hub's cache on this disk and those that are not."""

from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from flows.hub.address import Address


@dataclass(frozen=True)
class File:
    """A file by its path in the dataset, with its size in bytes, and its path in the cache if it is there.

    `sha256` is what the hub says of it; a file that is kept in git itself has none.
    """

    name: str
    size: int
    sha256: str | None
    path: Path | None


@dataclass(frozen=True)
class Snapshot:
    """What of a dataset is the source; its address is pinned to a commit."""

    address: Address
    files: tuple[File, ...]

    @property
    def missing(self) -> list[File]:
        """The files that are not in the cache."""
        return [file for file in self.files if file.path is None]

    @property
    def missing_bytes(self) -> int:
        """How much that is."""
        return sum(file.size for file in self.missing)

    def __str__(self) -> str:
        return f"{len(self.missing)} of {len(self.files)} files ({decimal(self.missing_bytes)}) of {self.address}"
