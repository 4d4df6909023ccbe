import re
from html import unescape

import duckdb
import pytest

from expectations.check import Report, check
from expectations.contract import Column, Contract
from expectations.docs import write_docs

LAMPS = Contract(
    about="one lamp",
    columns=(
        Column("lamp_id", unique=True, about="Id of the lamp."),
        Column("colour", values=("red", "green"), pattern="^[a-z]+$", about="Colour, <i>not</i> $shade."),
    ),
)


@pytest.fixture(scope="module")
def reports():
    with duckdb.connect() as db:
        db.execute("create table lamps as from (values ('l1', 'red'), ('<script>', 'blue')) t(lamp_id, colour)")
        db.execute("create table old_lamps as from (values ('l1', 'red')) t(lamp_id, colour)")
        return {table: check(db, table, LAMPS) for table in ("old_lamps", "lamps")}


def pages(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")}


def words(page):
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def test_the_page_of_a_table_reads_as_its_contract_and_what_breaks_it(reports, tmp_path):
    write_docs(reports, tmp_path / "docs")

    [page] = [words(page) for path, page in pages(tmp_path / "docs").items() if path.startswith("validations/lamps/")]

    assert "Expectation Suite: lamps" in page
    assert "Status: Failed" in page
    assert "VARCHAR, never null, unique, never empty. Id of the lamp." in page
    assert "one of red, green, like ^[a-z]+$. Colour, <i>not</i> $shade." in page
    assert "has 1 value not one of red, green (lamp_id: <script>)" in page


def test_sections_stand_in_the_order_of_the_contract(reports, tmp_path):
    write_docs(reports, tmp_path / "docs")

    for path, page in pages(tmp_path / "docs").items():
        if path != "index.html":
            text = words(page)
            assert text.index("01 table") < text.index("02 column lamp_id") < text.index("03 column colour")


def test_the_index_names_each_table_in_order_its_rows_and_failures(reports, tmp_path):
    index = write_docs(reports, tmp_path / "docs")

    text = words(index.read_text())
    assert "1 of 2 tables keep their contract" in text
    assert re.search(r"old_lamps 1 one lamp .*lamps 2 one lamp lamps: column colour has 1 value not one", text)


def test_every_link_leads_to_a_page_and_none_out_of_the_folder(reports, tmp_path):
    folder = tmp_path / "docs"
    write_docs(reports, folder)

    for path, page in pages(folder).items():
        assert "//" not in re.sub(r"</\w+>", "", page).replace("/*", ""), path
        assert "<script" not in page
        assert str(tmp_path) not in page
        for link in re.findall(r'href="([^"#]+)', page):
            assert (folder / path).parent.joinpath(link).resolve().is_file(), (path, link)


def test_docs_are_written_from_reports_kept_as_json(reports, tmp_path):
    kept = {table: Report.from_json(report.to_json()) for table, report in reports.items()}

    write_docs(reports, tmp_path / "first")
    write_docs(kept, tmp_path / "second")

    assert set(pages(tmp_path / "first")) == set(pages(tmp_path / "second"))
    assert {path: words(page) for path, page in pages(tmp_path / "first").items()} == {
        path: words(page) for path, page in pages(tmp_path / "second").items()
    }


def test_new_docs_replace_the_old_ones_and_leave_nothing_beside_them(reports, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "stale.html").write_text("old")

    write_docs(reports, folder)

    assert not (folder / "stale.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_docs_that_cannot_be_written_leave_the_old_ones(reports, tmp_path):
    folder = tmp_path / "docs"
    write_docs(reports, folder)
    before = pages(folder)
    broken = Report("lamps", "one lamp", 1, True, (), "no time at all", reports["lamps"].results)

    with pytest.raises(ValueError, match="no time at all"):
        write_docs({"lamps": broken}, folder)

    assert pages(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_docs_of_no_table_are_an_index_that_says_so(tmp_path):
    assert "0 of 0 tables" in words(write_docs({}, tmp_path / "docs").read_text())
