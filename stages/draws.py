"""Draws by hash: the same ids give the same draw, and taking one away changes nobody else's."""

import hashlib


def digest(*parts: object) -> str:
    """Return 64 hexadecimal digits that stand for `parts` in their order."""
    return hashlib.sha256("|".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def share(*parts: object) -> float:
    """Return a number from 0 up to 1, uniform over ids."""
    return int(digest(*parts)[:13], 16) / 16**13
