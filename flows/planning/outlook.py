"""What a build would have to do: the tables to make and why, the calls to make and what they cost."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from evaluation.tracks import Track, tracks_of
from flows.build import Reached, Step
from flows.calls_made import failures_in
from flows.finished import is_finished
from flows.planning.estimate import Estimate, estimate_of
from flows.planning.forecast import Sizes, calls_of, sizes_of
from flows.planning.reasons import listed, reasons
from flows.planning.rehearsal import Rehearsal, copy_of
from flows.planning.standing import Standing, standing_in
from flows.planning.usual import history_of
from flows.release_files import is_released
from flows.run import DRAFT_VERSION, Job, Plan, parts_of, plan_of
from llm.ledger import NANO
from warehouse import Table, connect


@dataclass(frozen=True)
class Outlook:
    """What is to be built, how things stand before that, and what it would take."""

    job: Job
    plan: Plan
    standing: Standing
    sizes: Sizes
    estimates: Sequence[Estimate]
    failures: Sequence[str]
    """What calls that failed left without an answer."""

    @property
    def to_build(self) -> list[Step]:
        """The tables to build, in order."""
        return [step for step in self.plan.steps if not step.is_built]

    @property
    def is_paid(self) -> bool:
        """Whether any call that is to be made costs something."""
        return any(one.calls.new and not one.calls.is_free for one in self.estimates)

    @property
    def most_usd(self) -> float | None:
        """What the home may spend in all; None where nothing bounds it."""
        most = next(iter(self.job.models.values())).most_nano_usd
        return None if most is None else most / NANO

    @property
    def is_done(self) -> bool:
        """Whether all is built, published and documented, and the release stands that the plan ends in."""
        home, version, fingerprint = self.job.home, self.job.version, self.plan.fingerprint
        return (
            self.plan.is_built
            and is_finished(home, self.plan.made(version))
            and (fingerprint is None or is_released(home, version, fingerprint, self._tracks))
        )

    @property
    def is_refused(self) -> bool:
        """Whether a release stands that is never replaced, and is another than the plan ends in."""
        home, version, fingerprint = self.job.home, self.job.version, self.plan.fingerprint
        there = version != DRAFT_VERSION and (home.releases / version).exists()
        return there and fingerprint is not None and not is_released(home, version, fingerprint, self._tracks)

    @property
    def _tracks(self) -> Sequence[Track]:
        return tracks_of(self.job.recipe.retrieval.distractors)


def outlook_of(job: Job) -> Outlook:
    """Plan a job, and go through it in memory as far as no model is needed.

    Raises:
        BadInputError: as in `plan_of`.
        BusyError: a build is running that has published nothing yet.
    """
    with ExitStack() as opened:
        with standing_in(job.home) as standing:
            plan = plan_of(job, standing.built)
            db = opened.enter_context(copy_of(standing.place, plan.steps))
            failures = list(_failures(standing.place))
        rehearsal = Rehearsal(db, plan.steps, standing.built, job.until)
        tables: dict[str, Table] = {}
        with suppress(Reached):
            for part in parts_of(job).values():
                tables |= part(rehearsal, tables)
        sizes, history = sizes_of(job, plan.steps, rehearsal), history_of(job.ledger)
        calls = calls_of(job, plan.steps, rehearsal, sizes, history)
        estimates = [estimate_of(each, history) for each in calls]
    return Outlook(job, plan, standing, sizes, estimates, failures)


def _failures(place: Path | None) -> Iterator[str]:
    if place is not None:
        with connect(place, read_only=True) as db:
            yield from failures_in(db)


def reasons_of(outlook: Outlook) -> dict[str, list[str]]:
    """Say why each table is to be built."""
    rebuilt = {step.table.name for step in outlook.to_build}
    return {step.table.name: list(_why(step, outlook, rebuilt)) for step in outlook.to_build}


def _why(step: Step, outlook: Outlook, rebuilt: set[str]) -> Iterator[str]:
    name, built = step.table.name, outlook.standing.built
    if name not in built:
        yield "never built"
        return
    if name == outlook.job.again:
        yield "asked for by --again"
    if built[name].fingerprint != step.table.fingerprint:
        was = outlook.standing.pieces.get(name)
        told = reasons(was, step.made_of.pieces, rebuilt) if was else []
        yield from told or ["made of other things than now, of which nothing was written down"]
    elif again := [read for read in step.reads if read in rebuilt]:
        yield f"reads {listed(again)}, which {'is' if len(again) == 1 else 'are'} rebuilt"
    elif newer := [read for read in step.reads if built[read].built_at > built[name].built_at]:
        yield f"older than {listed(newer)}, which it reads"
