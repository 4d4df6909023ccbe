from pathlib import Path

from flows.settings import Settings


def test_without_anything_set_the_home_is_a_folder_here():
    settings = Settings(_env_file=None)

    assert settings.home == Path("benchmark")
    assert settings.catalogue is None


def test_a_file_tells_where_things_are_and_other_lines_in_it_do_not_matter(tmp_path):
    (tmp_path / "settings").write_text("ALPSBENCH_HOME=/there\nALPSBENCH_CATALOGUE=c.toml\nOPENAI_API_KEY=k\n")

    settings = Settings(_env_file=tmp_path / "settings")

    assert (settings.home, settings.catalogue) == (Path("/there"), Path("c.toml"))


def test_the_secret_is_not_shown_with_the_settings():
    assert "hidden" not in repr(Settings(_env_file=None, secret="hidden"))
