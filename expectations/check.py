"""Checks a table against its contract with Great Expectations: the one module that imports it.

Great Expectations never sees the table. DuckDB counts what breaks each column, key and rule, and what is
validated is a frame of one row that holds these counts, each expected to be 0. So a million bodies take the
memory of ten, nested columns and rules are checked like all else, and the Data Docs have a section a column
that reads as its contract. One expectation a column, not one a limit: each costs 3 ms, whatever it looks at.
"""

import json
import logging
import os
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from expectations.contract import Contract
from expectations.limits import counted
from expectations.violations import Subject, count_violations
from warehouse.errors import AlpsbenchError

TOLD_FAILURES = 5
NONE = "nothing breaks it"

_one_at_a_time = threading.RLock()  # Great Expectations keeps its context in a global of the process


@dataclass(frozen=True)
class Report:
    """What a check found.

    Args:
        table: The table's own name.
        about: What a row is.
        rows: How many rows it has.
        passed: Whether it keeps its contract.
        failures: A sentence for each violation, with the keys of at most three rows.
        checked_at: When it was checked, UTC, as ISO 8601.
        results: The results of Great Expectations as JSON values: what its Data Docs are written from.
    """

    table: str
    about: str
    rows: int
    passed: bool
    failures: tuple[str, ...]
    checked_at: str
    results: tuple[Mapping[str, Any], ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        fields = json.loads(text)
        return cls(**fields | {"failures": tuple(fields["failures"]), "results": tuple(fields["results"])})

    def raise_if_broken(self) -> None:
        """Raise ContractError where the table breaks its contract."""
        if not self.passed:
            raise ContractError(self)


class ContractError(AlpsbenchError):
    """A table breaks its contract; `report` has all that was found."""

    exit_code = 5

    def __init__(self, report: Report) -> None:
        told, untold = report.failures[:TOLD_FAILURES], report.failures[TOLD_FAILURES:]
        more = (f"and {len(untold)} more",) if untold else ()
        super().__init__(f"contract broken: {'; '.join((*told, *more))}")
        self.report = report


def check(db: duckdb.DuckDBPyConnection, table: str, contract: Contract, *, name: str | None = None) -> Report:
    """Compare a table with its contract; it may stand in a transaction that is still open.

    Args:
        db: A connection that can read the table.
        table: The table as SQL names it there, such as `wh.main.candidate`.
        contract: What to compare it with.
        name: The table's own name, by which rules read it and reports speak of it; else `table`'s last part.
    """
    name = name or table.rpartition(".")[2].strip('"')
    rows, subjects = count_violations(db, table, contract, name=name)
    passed, results = _validate(name, subjects)
    failures = tuple(
        f"{name}: {subject.name} {violation}"
        for subject, result in zip(subjects, results, strict=True)
        if not result["success"]
        for violation in subject.violations or ("could not be checked",)
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Report(name, contract.about, rows, passed, failures, now, tuple(results))


def _validate(table: str, subjects: Sequence[Subject]) -> tuple[bool, list[dict[str, Any]]]:
    """Let Great Expectations judge the counts, and give its results with words for what was observed."""
    with _one_at_a_time:
        gx = _great_expectations()
        counts = {subject.name: [subject.count] for subject in subjects}
        expectations = [
            gx.expectations.ExpectColumnMaxToBeBetween(column=subject.name, max_value=0, description=subject.promise)
            for subject in subjects
        ]
        asset = _new_context(gx).data_sources.add_pandas("duckdb").add_dataframe_asset(table)
        batch = asset.add_batch_definition_whole_dataframe("violations").get_batch(
            {"dataframe": pa.table(counts).to_pandas()}
        )
        validated = batch.validate(gx.ExpectationSuite(table, expectations=expectations))
    of = {result.expectation_config.kwargs["column"]: result.to_json_dict() for result in validated.results}
    for subject in subjects:
        of[subject.name]["result"] = {"observed_value": "; ".join(map(str, subject.violations)) or NONE}
    return bool(validated.success), [of[subject.name] for subject in subjects]


def build_site(reports: Iterable[Report], folder: Path) -> Mapping[str, Path]:
    """Let Great Expectations write its pages of reports into an empty folder; give the page of each table."""
    with _one_at_a_time:
        gx = _great_expectations()
        context = _new_context(gx)
        pages = {report.table: _add_results(gx, context, report) for report in reports}
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve())}
        site = {"class_name": "SiteBuilder", "show_how_to_buttons": False, "store_backend": store}
        context.variables.data_docs_sites = {"tables": site}
        context.build_data_docs()
    missing = [table for table, page in pages.items() if not Path(folder, page).is_file()]
    if missing:  # it logs what it fails to render, and goes on
        raise RuntimeError(f"Great Expectations wrote no page of {', '.join(missing)}")
    return pages


def _add_results(gx: Any, context: Any, report: Report) -> Path:
    """Store a report where Great Expectations looks for what it documents; give the page it will have."""
    from great_expectations.core.expectation_validation_result import expectationValidationResultSchema
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    shown = [_shown(result, number) for number, result in enumerate(report.results, start=1)]
    results = [expectationValidationResultSchema.load(result) for result in shown]
    expectations = [result.expectation_config.to_domain_obj() for result in results]
    context.suites.add(gx.ExpectationSuite(report.table, expectations=expectations, notes=escape(report.about)))
    run = RunIdentifier(run_name="build", run_time=datetime.fromisoformat(report.checked_at))
    key: Any = ValidationResultIdentifier(ExpectationSuiteIdentifier(report.table), run, report.table)
    asset = {"data_asset_name": f"{report.table}, {counted(report.rows, 'row')}"}
    passed = sum(result.success for result in results)
    validated = gx.core.ExpectationSuiteValidationResult(
        success=report.passed,
        results=results,
        suite_name=report.table,
        statistics={
            "evaluated_expectations": len(results),
            "successful_expectations": passed,
            "unsuccessful_expectations": len(results) - passed,
            "success_percent": 100 * passed / len(results),
        },
        meta={"run_id": run, "batch_kwargs": asset, "great_expectations_version": gx.__version__},
    )
    context.validation_results_store.store_validation_results(validated, key)
    return Path("validations", *key.to_tuple()).with_suffix(".html")


def _shown(result: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Give a result as the pages can hold it: sections are sorted by name, and texts put in as they are."""
    configuration = result["expectation_config"]
    shown = {
        "kwargs": configuration["kwargs"] | {"column": f"{number:02} {configuration['kwargs']['column']}"},
        "description": _escape(configuration["description"]),
    }
    observed = {"observed_value": _escape(result["result"]["observed_value"])}
    return {**result, "expectation_config": configuration | shown, "result": observed}


def _escape(text: str) -> str:
    return escape(text).replace("$", "&#36;")  # a dollar begins a placeholder in its templates


def _new_context(gx: Any) -> Any:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    return context


@cache
def _great_expectations() -> Any:
    """Import it late, since that takes 4 to 10 s, and without its telemetry."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        # It imports two modules of the standard library that are only names of others by now.
        warnings.filterwarnings("ignore", "module 'sre_", DeprecationWarning)
        import great_expectations as gx
        import great_expectations.expectations
    # It tells of each temporary folder that it makes.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    return gx
