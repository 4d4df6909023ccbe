"""Amounts as people read them."""

UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def dollars(usd: float) -> str:
    """Return an amount in dollars, below one with hundredths of a cent where it has some."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}".removesuffix("00")


def tokens(count: float) -> str:
    """Return a number of tokens in at most five characters."""
    for size, unit in UNITS:
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 100 * size else f"{count / size:.0f}{unit}"
    return f"{count:.0f}"
