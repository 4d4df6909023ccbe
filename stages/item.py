"""What a stage accounts for: each is in its table, or in `dropped` with a reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """The values of one column of a table that a stage reads; its own rows have that column too."""

    table: str
    column: str
    where: str = "true"

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"
