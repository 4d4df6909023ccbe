"""What a user can do wrong, or meet: each ends in one clear line and an exit code of its own."""


class AlpsbenchError(Exception):
    """The base of every error that is told in one line, without a traceback."""

    exit_code = 1


class BadInputError(AlpsbenchError):
    """A source, recipe or argument that cannot be used as it is."""

    exit_code = 2


class BusyError(AlpsbenchError):
    """Another process holds what this one needs."""

    exit_code = 3


class DamagedError(AlpsbenchError):
    """A file of the home cannot be read any more; the message says how to go on."""

    exit_code = 4
