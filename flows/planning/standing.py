"""What is built in a home, looked at without getting in the way of a build."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from flows.build import Built, built_in, pieces_in
from flows.modules import Piece
from warehouse import BusyError, Home, connect


@dataclass(frozen=True)
class Standing:
    """The tables that are there, what each is made of, and the database that holds them.

    `is_building` says that a build is running, so that this is how things stood when it last published.
    """

    built: Mapping[str, Built] = field(default_factory=dict)
    pieces: Mapping[str, Sequence[Piece]] = field(default_factory=dict)
    place: Path | None = None
    is_building: bool = False


@contextmanager
def standing_in(home: Home) -> Iterator[Standing]:
    """Give what is built, for as long as its tables are read.

    That is the published copy, which nobody waits for. Only what a killed build left unpublished is read from the
    warehouse, and no build can start meanwhile.

    Raises:
        BusyError: a build is running that has published nothing yet.
        DamagedError: the warehouse cannot be read.
    """
    if not home.warehouse.exists():
        yield Standing()
        return
    published = _read(home.published) if home.published.exists() else Standing()
    with ExitStack() as held:
        try:
            standing = _read(home.warehouse, wait_seconds=1)
            if standing.built == published.built:
                standing = published
            else:
                held.enter_context(home.building())
        except BusyError:
            if published.place is None:
                message = f"a build is running in {home.root} and has published nothing yet: plan again later"
                raise BusyError(message) from None
            standing = replace(published, is_building=True)
        yield standing


def _read(place: Path, wait_seconds: float = 10) -> Standing:
    with connect(place, read_only=True, wait_seconds=wait_seconds) as db:
        return Standing(built_in(db), pieces_in(db), place)
