"""The hub that datasets come from, and its cache on this disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from huggingface_hub import constants, try_to_load_from_cache

from flows.hub.address import Address


@dataclass(frozen=True)
class Hub:
    """A hub's address, the token to show there, and the folder of the cache.

    None is what the environment says; a token that is False is none.
    """

    endpoint: str | None = None
    token: str | Literal[False] | None = None
    cache: Path | None = None

    @property
    def url(self) -> str:
        """The hub's address."""
        return self.endpoint or constants.ENDPOINT

    @property
    def place(self) -> Path:
        """The folder of the cache."""
        return self.cache or Path(constants.HF_HUB_CACHE)

    def kept(self, pinned: Address, name: str) -> Path | None:
        """Return where a file of a dataset at a commit lies in the cache, if it does."""
        found = try_to_load_from_cache(
            pinned.dataset, name, cache_dir=self.place, revision=pinned.revision, repo_type="dataset"
        )
        return Path(found) if isinstance(found, str) else None
