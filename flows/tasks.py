"""Runs parts of the DAG as Prefect flows, each table that is built a task."""

import hashlib
import platform
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from prefect import flow, tags, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import StateType
from prefect.context import TagsContext
from prefect.states import Crashed
from prefect.task_runners import TaskRunner

from flows.build import Builder, Reached, Stage
from warehouse import Home, Table

Result = TypeVar("Result")
WORK: ContextVar[Callable[[], Any]] = ContextVar("work")
"""What the flow or task that begins is to do. Prefect sends flow and task along to other processes, closures included;
a function of a module goes by its name, and leaves behind what it has hold of."""


def do_work() -> Any:
    """Do what there is to do in this process."""
    return WORK.get()()


def tag_of(home: Home) -> str:
    """Return the tag of all runs of a home."""
    where = f"{platform.node()}:{home.root.resolve()}"
    return "alpsbench-" + hashlib.sha256(where.encode()).hexdigest()[:12]


def run_flow(home: Home, name: str, part: Callable[[], Result], task_runner: TaskRunner | None = None) -> Result | None:
    """Run one part of the DAG as a flow; None when it was told to stop after one of its tables.

    Pieces of its tables' work go to `task_runner`.
    """

    def body() -> Result | None:
        try:
            # Of a tagged task Prefect asks a server for a slot, on a worker that of the build that it worked for first.
            with TagsContext(current_tags=set()):
                return part()
        except Reached:
            return None

    with tags(tag_of(home)):
        more: dict[str, Any] = {"task_runner": task_runner} if task_runner else {}
        return run_as(flow(name=name, validate_parameters=False, **more), body)


def run_as(kind: Callable[[Callable[[], Any]], Callable[[], Any]], work: Callable[[], Result]) -> Result:
    """Run work as a flow or a task of Prefect's."""
    token = WORK.set(work)
    try:
        result: Result = kind(do_work)()
        return result
    finally:
        WORK.reset(token)


def as_task(builder: Builder) -> Callable[..., Table]:
    """Return a builder whose every table that is not there yet is built in a Prefect task."""

    def build(stage: Stage, *reads: Table, **knobs: Any) -> Table:
        if not builder.is_built(stage):
            # Without parameters: Prefect would look into each of them, models and sources included.
            run_as(task(name=stage.__name__, cache_policy=NO_CACHE), lambda: builder.make(stage, *reads, **knobs))
        return builder.pass_on(stage)

    return build


def end_stale_runs(home: Home) -> None:
    """Call the runs crashed that a killed build of this home left as running."""
    unfinished = FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING])
    wanted = FlowRunFilter(state=FlowRunFilterState(type=unfinished), tags=FlowRunFilterTags(all_=[tag_of(home)]))
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=wanted):
            client.set_flow_run_state(run.id, Crashed(message="its process was killed"), force=True)
