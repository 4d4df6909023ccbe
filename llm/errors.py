"""What can go wrong with a model so thoroughly that a run stops."""

from warehouse.errors import AlpsbenchError


class ModelError(AlpsbenchError):
    """A model that cannot be used at all: unknown, unreachable, or one that refuses the key."""

    exit_code = 6


class BudgetError(ModelError):
    """The money that may be spent does not suffice, or nobody can tell whether it does."""
