"""Where the pieces of a build's work are done: in this process, or by a Dask cluster."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from flows.recipe import Recipe
from flows.shards import Scratch
from stages.workers import HERE, Workers
from warehouse import BadInputError, Home

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner

DASK = "dask"


@dataclass(frozen=True)
class Staff:
    """Who works for a build: those who do pieces, and Prefect's way to them; None is Prefect's own."""

    workers: Workers = HERE
    task_runner: "TaskRunner | None" = None


@dataclass(frozen=True)
class Runner:
    """What somebody asks for: `dask`, a cluster on this machine; `dask://HOST:PORT`, one that is there; None, neither.

    `scratch` is a folder or an fsspec URL for the shards, which all workers must see.
    """

    name: str | None = None
    scratch: str | None = None

    @property
    def address(self) -> str | None:
        """The address of a scheduler that is there.

        Raises:
            BadInputError: the name is none of the three.
        """
        if self.name is None or self.name == DASK:
            return None
        host, colon, port = self.name.removeprefix(f"{DASK}://").rpartition(":")
        if not self.name.startswith(f"{DASK}://") or not host or not port.isdigit():
            raise BadInputError(f"--runner {self.name}: write dask, or dask://HOST:PORT of a Dask scheduler")
        return f"tcp://{host}:{port}"

    def check(self) -> None:
        """Look whether it makes sense.

        Raises:
            BadInputError: it does not.
        """
        if self.address and not self.scratch:
            raise BadInputError(
                f"--runner {self.name} needs --scratch: a folder or an fsspec URL that this machine and all workers see"
            )
        if self.scratch and not self.name:
            raise BadInputError("--scratch is for the shards of --runner dask")

    @contextmanager
    def staff(self, home: Home, recipe: Recipe) -> Iterator[Staff]:
        """Have the workers for as long as a build takes.

        Raises:
            BadInputError: a cluster does not answer, or does not see the scratch folder.
        """
        if self.name is None:
            yield Staff()
            return
        # Workers that come and go are Dask's business; what they could not do ends in one error.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        from prefect_dask.task_runners import DaskTaskRunner

        from flows.dask_workers import workers_of

        shards = Scratch(self.scratch or str((home.work / "shards").resolve()))
        if not self.scratch:
            shards.remove()  # of a build that was killed: no other one runs in this home
        scratch = shards.below(f"alpsbench-{uuid4().hex}")
        scratch.check()
        try:
            with self._scheduler(home) as address:
                workers = workers_of(address, scratch, recipe, home.ledger.resolve())
                yield Staff(workers, DaskTaskRunner(address=address))
        finally:
            scratch.remove()  # once no worker of ours writes any more

    @contextmanager
    def _scheduler(self, home: Home) -> Iterator[str]:
        if self.address:
            yield self.address
            return
        from dask import config

        # Processes that are started read the same settings.
        levels = {"distributed": "critical", "distributed.nanny": "critical", "distributed.worker": "critical"}
        config.set({"logging": levels, "distributed.admin.system-monitor.gil.enabled": False})
        from distributed import LocalCluster

        with LocalCluster(  # type: ignore[no-untyped-call] # distributed has few types
            n_workers=os.cpu_count(),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            local_directory=str(Path(home.work / "dask").resolve()),
            silence_logs=logging.CRITICAL,
        ) as cluster:
            yield cluster.scheduler_address
