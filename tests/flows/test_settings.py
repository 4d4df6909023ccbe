from pathlib import Path

import pytest

from flows.settings import Settings, read_settings
from warehouse import BadInputError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to work in, and nothing set."""
    monkeypatch.chdir(tmp_path)
    for name in ("ALPSBENCH_HOME", "ALPSBENCH_SECRET", "ALPSBENCH_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_without_anything_set_the_home_is_a_folder_here():
    settings = Settings()

    assert settings.home == Path("benchmark")
    assert settings.catalogue is None


def test_a_file_tells_where_things_are_and_other_lines_in_it_do_not_matter(here):
    (here / ".env").write_text("ALPSBENCH_HOME=/there\nALPSBENCH_CATALOGUE=c.toml\nOPENAI_API_KEY=k\n")

    settings = Settings()

    assert (settings.home, settings.catalogue) == (Path("/there"), Path("c.toml"))


def test_a_variable_wins_over_the_file(here, monkeypatch):
    (here / ".env").write_text("ALPSBENCH_HOME=/there\n")
    monkeypatch.setenv("ALPSBENCH_HOME", "/here")

    assert Settings().home == Path("/here")


def test_the_secret_is_not_shown_with_the_settings():
    assert "hidden" not in repr(Settings(secret="hidden"))


def test_a_setting_that_is_not_right_is_told_by_its_variable(monkeypatch):
    monkeypatch.setenv("ALPSBENCH_CONCURRENCY", "abc")
    with pytest.raises(BadInputError, match="^ALPSBENCH_CONCURRENCY: Input should be a valid integer"):
        read_settings()
