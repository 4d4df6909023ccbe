"""Has pieces of work done by the workers of a Dask cluster, each piece a task of Prefect's."""

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
from distributed import Client, KilledWorker
from prefect import task
from prefect.cache_policies import NO_CACHE

from flows.models import models_of
from flows.recipe import Recipe
from flows.settings import read_settings
from flows.shards import Scratch
from llm.gateway import Model
from llm.ledger import Ledger
from stages.workers import HERE, Work
from warehouse import AlpsbenchError, BadInputError

TASKS_A_WORKER = 2
"""More than one, so that a slow one holds up little, and few, since Prefect notes each down."""


class LostWorkersError(AlpsbenchError):
    """A piece of work ended every worker that tried it, or the scheduler is gone."""

    exit_code = 7


@dataclass(frozen=True)
class Place:
    """Where a worker finds what a build has: the recipe, as JSON, and the ledger; and how many threads share it."""

    recipe: str
    ledger: Path
    workers: int


@dataclass
class DaskWorkers:
    """The workers of a cluster; tables go to them and come back through `scratch`."""

    scratch: Scratch
    place: Place
    may_call: bool
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def pieces(self) -> int:
        """How many pieces of one table are worth while."""
        return self.place.workers * TASKS_A_WORKER

    def each(self, work: Work, pieces: Iterable[pa.Table], **knobs: Any) -> Iterator[pa.Table]:
        """Have all pieces done, and give what `work` makes of each, in the order of the pieces.

        What a worker that is lost had in hand, another one does again. Models are asked from here where the workers
        cannot reach the ledger.

        Raises:
            LostWorkersError: a piece ends one worker after the other, or the scheduler is gone.
        """
        models = {name: knob for name, knob in knobs.items() if isinstance(knob, Model)}
        if models and not self.may_call:
            return HERE.each(work, pieces, **knobs)
        folder = self.scratch.below(f"{work.__name__}-{next(self.numbers)}")
        rows = [folder.write(name_of(number, "in"), piece) for number, piece in enumerate(pieces)]
        plain = {name: knob for name, knob in knobs.items() if name not in models}
        order = cloudpickle.dumps((work, plain, sorted(models), self.place, folder))
        todo = [part.tolist() for part in np.array_split(range(len(rows)), min(self.pieces, len(rows)) or 1)]
        sent = task(name=work.__name__, cache_policy=NO_CACHE, persist_result=False)(do_pieces)
        done = 0
        for part, future in [(part, sent.submit(order, part)) for part in todo]:
            try:
                calls: Mapping[str, int] = future.result()
            except KilledWorker:
                raise LostWorkersError(f"{work.__name__} ended each worker that tried it: too little memory?") from None
            except CancelledError:
                raise LostWorkersError("the Dask scheduler is gone; run it again to go on") from None
            done += sum(rows[number] for number in part)
            for name, model in models.items():
                model.calls += calls[name]
                model.progress(done, sum(rows))
        return results(folder, len(rows))


def name_of(number: int, way: str) -> str:
    """Return the name of a piece on its way in or out."""
    return f"{number:06}-{way}.parquet"


def results(folder: Scratch, pieces: int) -> Iterator[pa.Table]:
    """Give what was made of each piece, and remove the folder."""
    for number in range(pieces):
        yield folder.read(name_of(number, "out"))
    folder.remove()


def do_pieces(order: bytes, numbers: list[int]) -> dict[str, int]:
    """Do pieces of work on a worker; give how many calls each model made."""
    work, knobs, roles, place, folder = cloudpickle.loads(order)
    with models_at(place, roles) as models:
        # What a worker that was lost had done is there, and whole.
        for number in (one for one in numbers if not folder.has(name_of(one, "out"))):
            folder.write(name_of(number, "out"), work(folder.read(name_of(number, "in")), **knobs, **models))
        return {role: model.calls for role, model in models.items()}


@contextmanager
def models_at(place: Place, roles: Sequence[str]) -> Iterator[dict[str, Model]]:
    """Give the models that play some roles, which write the ledger of the build; no other thread has them."""
    if not roles:
        yield {}
        return
    with closing(Ledger(place.ledger)) as ledger:
        recipe = Recipe.model_validate_json(place.recipe)
        models = models_of(recipe, read_settings(), ledger, sharers=place.workers)
        yield {role: models[role] for role in roles}


def workers_of(address: str, scratch: Scratch, recipe: Recipe, ledger: Path) -> DaskWorkers:
    """Look who is at an address, and what they can reach.

    Raises:
        BadInputError: nobody, or they do not see the scratch folder, or lack this package.
    """
    try:
        client = Client(address, timeout=20, set_as_default=False)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise BadInputError(f"--runner dask://…: no Dask scheduler answers at {address}: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=60)
        except TimeoutError:
            raise BadInputError(f"the Dask scheduler at {address} has no worker") from None
        seen = client.run(reach, scratch, ledger, on_error="return")
        threads = sum(client.nthreads().values())  # type: ignore[no-untyped-call]
    if blind := [worker for worker, found in seen.items() if not isinstance(found, tuple)]:
        raise BadInputError(
            f"{len(blind)} of {len(seen)} Dask workers cannot read --scratch {scratch.url}, or have another alpsbench: "
            f"{seen[blind[0]]}"
        )
    place = Place(recipe.model_dump_json(), ledger, threads)
    return DaskWorkers(scratch, place, may_call=all(found == (platform.node(), True) for found in seen.values()))


def reach(scratch: Scratch, ledger: Path) -> tuple[str, bool]:
    """Say, on a worker, on which machine it is and whether it sees the ledger; fail where it sees no scratch folder."""
    scratch.read("probe.parquet")
    return platform.node(), ledger.exists()
