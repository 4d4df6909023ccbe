"""The secret that user ids are made with."""

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Secret:
    """A secret text, of which only the hash is ever shown."""

    value: str = field(repr=False)

    @property
    def identity(self) -> str:
        """What stands for the secret in fingerprints."""
        return hashlib.sha256(self.value.encode()).hexdigest()
