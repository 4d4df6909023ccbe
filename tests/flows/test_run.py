"""A version that was released is never replaced, whatever became of the calls behind it."""

import pytest

from flows.run import is_kept
from warehouse import BadInputError, Home


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def write(home):
    """Write a release or a draft: `write("releases/1.0", {"public/dev/rows.jsonl": "..."})`; give its folder."""

    def write(where, files):
        for name, text in files.items():
            file = home.root / where / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return home.root / where

    return write


ROWS = {"public/dev/task1/model_input.jsonl": "{}\n", "sealed/key.jsonl": "{}\n"}
CARD = {"public/README.md": "# 1.0", "public/manifest.json": "{}"}


def test_a_version_that_stands_with_the_same_rows_is_kept(home, write):
    write("releases/1.0", ROWS | CARD)

    assert is_kept(home, "1.0", write("draft", ROWS))


@pytest.mark.parametrize("changed", [*ROWS, "public/dev/task2/model_input.jsonl"])
def test_a_version_that_would_have_other_rows_is_refused(home, write, changed):
    write("releases/1.0", ROWS | CARD)

    with pytest.raises(BadInputError) as refused:
        is_kept(home, "1.0", write("draft", ROWS | {changed: "{1}\n"}))

    assert str(refused.value) == (
        "version 1.0 is released already, and this build would change it: give another --version"
    )


def test_a_draft_is_replaced_and_a_new_version_is_written(home, write):
    write("releases/draft", ROWS | CARD)
    draft = write("draft", ROWS)

    assert not is_kept(home, "draft", draft)
    assert not is_kept(home, "1.0", draft)
