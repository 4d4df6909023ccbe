"""Runs a build: plans it, builds what is not there, publishes after each flow, and releases at the end."""

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from annotation.desk import Desk
from evaluation.released import Release
from evaluation.tracks import tracks_of
from evaluation.verdicts import Gate, raise_if_failed
from expectations.check import ContractError, Report
from expectations.docs import write_docs
from flows.annotate import annotate
from flows.build import Build, Builder, Built, Planner, Reached, Step, Watcher, built_tables
from flows.curate import curate
from flows.finished import RELEASE, begin, finish, is_finished
from flows.modules import code_of
from flows.recipe import Recipe
from flows.release import attack, construct
from flows.release_files import is_made_of, is_released, publish_release, write_draft
from flows.runner import Runner
from llm.gateway import Model
from llm.ledger import Ledger
from stages.audits import Draft
from stages.secret import Secret
from stages.source import Source
from warehouse import BadInputError, Home, Table, connect, publish, published_calls, sha256_of

Tables = Mapping[str, Table]
Part = Callable[[Build, Tables], Tables]
DRAFT_VERSION = "draft"
"""The version that each build may replace; every other one, once released, stays as it is."""
WOULD_CHANGE = "version {version} is released already, and this build would change it: give another --version"


@dataclass(frozen=True)
class Job:
    """All that a build is told."""

    home: Home
    recipe: Recipe
    source: Source
    secret: Secret
    models: Mapping[str, Model]
    desk: Desk
    ledger: Ledger
    version: str = DRAFT_VERSION
    until: str | None = None
    again: str | None = None
    runner: Runner = Runner()
    asked: Recipe = Recipe()
    """The recipe as it was given, recordings by their paths, for workers that open them."""


@dataclass(frozen=True)
class Plan:
    """The tables in the order of building, and the release that they end in unless the build stops before."""

    steps: Sequence[Step]
    fingerprint: str | None

    @property
    def is_built(self) -> bool:
        """Whether every table is there, made of the same things."""
        return all(step.is_built for step in self.steps)

    def made(self, version: str) -> dict[str, str]:
        """Return what each table of the plan is made of, and its release as a version, if it ends in one."""
        made = {step.table.name: step.table.fingerprint for step in self.steps}
        return made | ({RELEASE + version: self.fingerprint} if self.fingerprint else {})


def parts_of(job: Job) -> dict[str, Part]:
    """The DAG in its three flows, each given the tables of those before it."""
    return {
        "curate": lambda build, _: curate(build, job.recipe, job.source, job.secret, job.models),
        "annotate": lambda build, tables: annotate(build, tables, job.desk),
        "construct": lambda build, tables: construct(build, job.recipe, tables, job.models),
    }


def plan_of(job: Job, built: Mapping[str, Built] | None = None) -> Plan:
    """Say what a build would make of what, without building; `built` are the tables that are there.

    Raises:
        BadInputError: there is no table of the name to stop after, or none of the name to build again.
    """
    planner = Planner(built_tables(job.home) if built is None else built, job.until, job.again)
    fingerprint = None
    tables: dict[str, Table] = {}
    with suppress(Reached):
        for part in parts_of(job).values():
            tables |= part(planner, tables)
        attack_release(planner, job, tables, fingerprint_of(job, tables))
        fingerprint = fingerprint_of(job, tables)
    names = [step.table.name for step in planner.steps]
    for option, name in (("until", job.until), ("again", job.again)):
        if name and name not in names:
            end = f", up to --until {job.until}" if job.until in names else ""
            raise BadInputError(f"--{option} {name}: no such table; there are {', '.join(names)}{end}")
    return Plan(planner.steps, fingerprint)


def fingerprint_of(job: Job, tables: Tables) -> str:
    """Identify a release by its tables, its recipe, its version and the code that writes it."""
    parts = [table.fingerprint for table in tables.values()]
    code = [*code_of(Path(write_draft.__code__.co_filename)), *code_of(Path(__file__).with_name("card.py"))]
    text = "|".join([*parts, *code, job.recipe.model_dump_json(), job.version])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def attack_release(build: Build, job: Job, tables: Tables, fingerprint: str) -> Table:
    """Build the table `audits` over the written draft."""
    draft = Draft(Release(draft_of(job, fingerprint), job.recipe.retrieval.distractors), fingerprint)
    return attack(build, job.recipe, tables, draft)


def draft_of(job: Job, fingerprint: str) -> Path:
    """Return the folder where a release is written before it is published."""
    return job.home.work / "drafts" / fingerprint


def run(job: Job, watcher: Watcher) -> Plan:
    """Build what a plan says, and return the plan; with nothing to build, Prefect is not even started.

    Raises:
        AlpsbenchError: something that the user can act on; what was built before stays.
    """
    check_version(job.version)
    plan = plan_of(job)
    tracks = tracks_of(job.recipe.retrieval.distractors)
    released = plan.fingerprint is None or is_released(job.home, job.version, plan.fingerprint, tracks)
    if plan.fingerprint and not released and job.version != DRAFT_VERSION:
        refuse_to_replace(job, plan.fingerprint)
    builder = Builder(job.home, plan.steps, watcher, job.until)
    if plan.is_built and released and is_finished(job.home, plan.made(job.version)):
        with suppress(Reached):
            walk(job, builder)
        if job.ledger.last_call() > published_calls(job.home):  # of the served gateway
            publish(job.home, job.ledger.rows())
        return plan
    job.source.check()
    begin(job.home, {step.table.name for step in plan.steps if not step.is_built})
    from flows.prefect_server import serving

    if not job.home.published.exists():
        connect(job.home.warehouse).close()
        publish(job.home, job.ledger.rows())
    watcher.starting()
    with serving(job.home), job.runner.staff(job.home, job.asked) as staff:
        builder.workers = staff.workers
        from flows.tasks import as_task, end_stale_runs, run_flow

        end_stale_runs(job.home)
        tables: dict[str, Table] = {}
        parts: dict[str, Part] = {**parts_of(job), "release": partial(release, job, plan)}
        for name, part in parts.items():
            try:
                made = run_flow(job.home, name, partial(part, as_task(builder), tables), staff.task_runner)
            except ContractError as error:
                document(job.home, plan.steps, error.report)
                raise
            finally:
                publish(job.home, job.ledger.rows())
            if made is None:
                break
            tables |= made
    document(job.home, plan.steps)
    finish(job.home, plan.made(job.version))
    return plan


def walk(job: Job, builder: Builder) -> None:
    """Go through a plan of which everything is built."""
    tables: dict[str, Table] = {}
    for part in parts_of(job).values():
        tables |= part(builder, tables)
    attack_release(builder, job, tables, fingerprint_of(job, tables))


def check_version(version: str) -> None:
    """Refuse what is no name of a folder.

    Raises:
        BadInputError: it has other characters than letters, digits, dot, dash and underscore.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", version):
        raise BadInputError(f"--version {version!r}: a version is letters, digits, dots, dashes and underscores")


def refuse_to_replace(job: Job, fingerprint: str) -> None:
    """Keep a released version as it is.

    Raises:
        BadInputError: it stands there, made of other things, or is not what its manifest says.
    """
    place = job.home.releases / job.version
    if place.exists():
        if is_made_of(place, fingerprint):
            raise BadInputError(
                f"the files of {place} are not those of its manifest any more: move it away, and build it again"
            )
        raise BadInputError(WOULD_CHANGE.format(version=job.version))


def release(job: Job, plan: Plan, build: Build, tables: Tables) -> Tables:
    """Write a draft, attack it, and publish it if every gate holds.

    Raises:
        GateError: one does not; the error names the rows, and the draft is left to look at.
        BadInputError: the version is released already, with other rows.
    """
    fingerprint = fingerprint_of(job, tables)
    draft, tracks = draft_of(job, fingerprint), tracks_of(job.recipe.retrieval.distractors)
    if not plan.steps[-1].is_built:
        shutil.rmtree(draft, ignore_errors=True)  # of a build that was stopped, whose tables may be others by now
    with connect(job.home.warehouse) as db:
        write_draft(db, tracks, draft)
    audited = attack_release(build, job, tables, fingerprint)
    with connect(job.home.warehouse) as db:
        gates = [Gate(*row) for row in db.execute("from audits").fetchall()]
        raise_if_failed(gates, f"; the draft is in {draft}")
        if not is_kept(job.home, job.version, draft):
            publish_release(db, job.home, draft, job.version, fingerprint, job.recipe, tracks)
    shutil.rmtree(draft.parent, ignore_errors=True)
    return {audited.name: audited}


def is_kept(home: Home, version: str, draft: Path) -> bool:
    """Say whether a version that is never replaced stands already, with the rows of the draft.

    Raises:
        BadInputError: its rows are others: answers to calls that had failed are there by now, or failed since.
    """
    place = home.releases / version
    if version == DRAFT_VERSION or not place.exists():
        return False
    if any(rows_of(place / side) != rows_of(draft / side) for side in ("public", "sealed")):
        raise BadInputError(WOULD_CHANGE.format(version=version))
    return True


def rows_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of rows below a folder."""
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*.jsonl")}


def document(home: Home, steps: Sequence[Step], broken: Report | None = None) -> None:
    """Write the Data Docs of every table that was ever checked, those of a plan first, in its order.

    `broken` says how a table that was not put in place breaks its contract; it is shown instead of the old one.
    """
    known = [path.stem for path in sorted(home.reports.glob("*.json"))]
    names = dict.fromkeys([*(step.table.name for step in steps if step.table.name in known), *known])
    reports = {name: Report.from_json((home.reports / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    write_docs(reports | ({broken.table: broken} if broken else {}), home.data_docs)
