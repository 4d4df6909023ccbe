import hashlib
import re
import stat

import pytest

from warehouse import BadInputError, BusyError, Home, sha256_of

BUILD = """
from pathlib import Path
from warehouse import Home
with Home(Path(sys.argv[1])).building():
    print("building", flush=True)
    sys.stdin.readline()
print("done", flush=True)
sys.stdin.readline()
"""


def test_everything_is_in_the_home(home):
    places = [home.published, home.warehouse, home.ledger, home.reports, home.releases, home.data_docs]
    assert all(place.is_relative_to(home.root) for place in places)
    assert len(set(places)) == len(places)
    assert home.published.name == "alpsbench.duckdb"
    assert home.warehouse.parent == home.ledger.parent == home.root / ".build"


def test_a_home_is_made_once_and_again_without_harm(tmp_path):
    home = Home(tmp_path / "far" / "away")
    for _ in range(2):
        home.make()
    assert home.work.is_dir()


def test_a_home_that_is_a_file_is_told(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(BadInputError, match=f"^cannot make the home {re.escape(str(tmp_path / 'home'))}: "):
        Home(tmp_path / "home").make()


def test_two_builds_in_one_home_are_one_too_many(home, meanwhile):
    with meanwhile(BUILD, home.root) as process:
        with pytest.raises(BusyError) as error, home.building():
            pass
        assert str(error.value) == f"another build is running in {home.root}; wait for it, or give another --home"
        process.go_on()
        assert process.stdout.readline() == "done\n"
        with home.building():
            pass


def test_two_builds_in_two_homes_do_not_meet(home, meanwhile, tmp_path):
    other = Home(tmp_path / "other")
    other.make()
    with meanwhile(BUILD, home.root), other.building():
        pass


def test_a_killed_build_leaves_its_home_free(home, meanwhile):
    with meanwhile(BUILD, home.root) as process:
        process.kill()
        process.wait()
        with home.building():
            pass


def test_a_build_that_fails_leaves_its_home_free(home):
    def fail():
        with home.building():
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail()


def test_the_secret_is_made_once_and_for_its_owner_alone(home):
    secret = home.secret()
    assert re.fullmatch("[0-9a-f]{64}", secret)
    assert home.secret() == Home(home.root).secret() == secret
    file = home.root / "secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in home.root.iterdir() if path.is_file()] == ["secret"]


def test_each_home_has_a_secret_of_its_own(home, tmp_path):
    (tmp_path / "other").mkdir()
    assert Home(tmp_path / "other").secret() != home.secret()


@pytest.mark.parametrize("given", ["from elsewhere", " from elsewhere\n"])
def test_a_given_secret_is_kept(home, given):
    assert home.secret(given) == home.secret() == home.secret(given) == "from elsewhere"
    assert stat.S_IMODE((home.root / "secret").stat().st_mode) == 0o600


def test_another_secret_than_the_homes_own_is_refused_and_neither_is_shown(home):
    kept = home.secret()
    with pytest.raises(BadInputError) as error:
        home.secret("from elsewhere")
    assert str(error.value).startswith(f"ALPSBENCH_SECRET is not the secret that {home.root} was built with")
    assert kept not in str(error.value)
    assert "from elsewhere" not in str(error.value)
    assert home.secret() == kept


def test_a_secret_that_was_cut_short_by_a_kill_is_made_anew(home):
    (home.root / "secret.partial").write_text("half")
    assert len(home.secret()) == 64


@pytest.mark.parametrize("content", [b"", b"abc", bytes(range(256)) * 4096])
def test_a_hash_is_that_of_the_content(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_a_secret_that_is_gone_is_not_made_anew_without_a_word(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    kept = home.secret()
    (home.root / "secret").unlink()

    with pytest.raises(BadInputError, match="is gone, and with it all user ids"):
        home.secret()
    assert home.secret(kept) == kept
