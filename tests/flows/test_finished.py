import pytest

from flows.finished import RELEASE, begin, finish, finished, is_finished
from warehouse import Home

MADE = {"a": "1", "b": "2", RELEASE + "1.0": "3"}


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    home.data_docs.mkdir()
    home.published.touch()
    return home


def test_what_is_finished_is_known_by_what_it_is_made_of(home):
    finish(home, MADE)

    assert is_finished(home, MADE)
    assert is_finished(home, {"b": "2"})
    assert not is_finished(home, {"a": "1", "b": "3"})
    assert not is_finished(home, MADE | {"c": "3"})
    assert not is_finished(home, {RELEASE + "1.1": "3"})


def test_what_was_finished_before_stays_beside_it(home):
    finish(home, MADE)
    finish(home, {"a": "9", RELEASE + "1.1": "8"})

    assert is_finished(home, MADE | {"a": "9", RELEASE + "1.1": "8"})


def test_a_table_that_is_about_to_be_built_is_not_finished_any_more_nor_is_any_release(home):
    finish(home, MADE)

    begin(home, {"b"})

    assert finished(home) == {"a": "1"}


def test_a_build_with_nothing_to_build_takes_nothing_back(home):
    finish(home, MADE)

    begin(home, set())

    assert is_finished(home, MADE)


@pytest.mark.parametrize("gone", ["published", "data_docs"])
def test_nothing_is_finished_without_what_people_open(home, gone):
    finish(home, MADE)
    place = getattr(home, gone)

    place.rename(place.with_name("away"))

    assert not is_finished(home, MADE)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_file_that_was_cut_says_that_nothing_is_finished(home, text):
    home.finished.write_text(text, encoding="utf-8")

    assert finished(home) == {}
