import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_package_is_in_the_wheel():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert wheel == sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def test_the_lock_is_hashed_and_names_no_host():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = [line for line in lock.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(pinned) > 100
    assert all("==" in line and line.endswith("\\") for line in pinned)  # a hash follows
    assert "://" not in lock
