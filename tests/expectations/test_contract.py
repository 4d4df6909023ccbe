import sys

import pytest

from expectations.contract import Column, Contract, ContractMissingError, Rule, contract_of
from warehouse.errors import AlpsbenchError

MODULE = """
from expectations.contract import Column, Contract

CONTRACT = Contract(about="one lamp", columns=(Column("lamp_id", unique=True, about="Id of the lamp."),))
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A second folder that counts as expectations/, for modules that only a test knows."""
    import expectations

    monkeypatch.setattr(expectations, "__path__", [*expectations.__path__, str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("expectations.lamps")]:
        del sys.modules[name]


def test_a_contract_is_found_by_the_name_of_its_table(modules):
    (modules / "lamps.py").write_text(MODULE)

    assert contract_of("lamps") == Contract(
        about="one lamp", columns=(Column("lamp_id", unique=True, about="Id of the lamp."),)
    )


def test_a_table_without_a_module_says_what_to_write():
    with pytest.raises(ContractMissingError, match=r"table lamps_of_old .*expectations/lamps_of_old\.py"):
        contract_of("lamps_of_old")


def test_a_module_that_is_no_contract_is_none():
    with pytest.raises(ContractMissingError, match="table limits has no contract"):
        contract_of("limits")


def test_a_module_that_fails_to_import_something_else_is_told_as_it_is(modules):
    (modules / "lamps_broken.py").write_text("import no_such_package_at_all")

    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all"):
        contract_of("lamps_broken")


def test_a_missing_contract_ends_in_one_line_for_the_user():
    assert issubclass(ContractMissingError, AlpsbenchError)


def test_a_column_cannot_be_named_twice():
    with pytest.raises(ValueError, match="names a twice"):
        Contract(about="a row", columns=(Column("a"), Column("a")))


def test_a_rule_cannot_be_named_twice():
    with pytest.raises(ValueError, match="names r twice"):
        Contract(about="a row", columns=(Column("a"),), rules=(Rule("r", "from t"), Rule("r", "from t")))


def test_a_key_is_made_of_columns_of_the_contract():
    with pytest.raises(ValueError, match="b, which is no column"):
        Contract(about="a row", columns=(Column("a"),), unique=(("a", "b"),))
