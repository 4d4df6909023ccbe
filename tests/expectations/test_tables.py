import re
from pathlib import Path

import pytest

import expectations
import stages
from expectations.check import check
from expectations.contract import contract_of
from expectations.violations import count_violations
from warehouse import connect

CONTRACTS = {name: contract_of(name) for name in stages.__all__}
RULES = {f"{name}: {rule.name}": (name, rule) for name, contract in CONTRACTS.items() for rule in contract.rules}


@pytest.fixture(scope="module")
def warehouse():
    """Every table, empty, with the columns that its contract states."""
    with connect() as db:
        for name, contract in CONTRACTS.items():
            columns = ", ".join(f'"{column.name}" {column.type}' for column in contract.columns)
            db.execute(f"create table {name} ({columns})")
        yield db


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_says_what_a_row_and_each_column_is(name):
    contract = CONTRACTS[name]
    assert contract.about.strip()
    assert [column.name for column in contract.columns if not re.fullmatch(r"[^\s].*[.?]", column.about)] == []


def test_every_stage_has_a_contract_and_every_contract_a_stage():
    folder = Path(expectations.__file__).parent
    with_contract = {path.stem for path in folder.glob("*.py") if re.search(r"^CONTRACT = ", path.read_text(), re.M)}
    assert with_contract == set(stages.__all__)


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_states_types_as_duckdb_prints_them(warehouse, name):
    described = {column: type for column, type, *_ in warehouse.execute(f"describe {name}").fetchall()}
    assert described == {column.name: column.type for column in CONTRACTS[name].columns}


@pytest.mark.parametrize(("name", "rule"), RULES.values(), ids=RULES)
def test_a_rule_runs_on_the_types_of_the_contracts_and_finds_nothing_in_nothing(warehouse, name, rule):
    assert warehouse.execute(rule.sql).fetchall() == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_an_empty_table_breaks_nothing_but_the_number_of_rows(warehouse, name):
    rows, subjects = count_violations(warehouse, name, CONTRACTS[name], name=name)
    broken = {subject.name for subject in subjects if subject.violations}
    assert rows == 0
    assert broken == ({"table"} if CONTRACTS[name].min_rows else set())


@pytest.mark.parametrize("name", ["dialogues", "memories", "gold_memories", "retrieval_items"])
def test_a_filter_that_removed_everything_fails_the_gate(warehouse, name):
    assert not check(warehouse, name, CONTRACTS[name]).passed


@pytest.mark.parametrize("name", CONTRACTS)
def test_limits_are_of_the_type_of_their_column(warehouse, name):
    for column in CONTRACTS[name].columns:
        limits = [*(column.values or ()), *(one for one in column.between or () if one is not None)]
        for limit in limits:
            cast = warehouse.execute(f"select try_cast(? as {column.type})", [limit]).fetchall()
            assert cast == [(limit,)], f"{column.name}: {limit!r} is no {column.type}"
        if column.pattern:
            assert column.type == "VARCHAR"
            warehouse.execute("select regexp_full_match('', ?)", [column.pattern])
