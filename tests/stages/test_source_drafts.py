import pytest

from stages.source_drafts import drafted


def test_a_file_is_there_when_it_is_whole(tmp_path):
    path = tmp_path / "deep" / "down" / "a.txt"

    with drafted(path) as draft:
        draft.write_text("half")
        assert not path.exists()
        draft.write_text("whole")

    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_whose_writing_fails_is_as_it_was(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    with pytest.raises(ZeroDivisionError), drafted(path) as draft:
        draft.write_text(str(1 / 0))

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_writers_at_once_the_last_to_end_stays_whole(tmp_path):
    path = tmp_path / "a.txt"

    with drafted(path) as first:
        first.write_text("first")
        with drafted(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"

    assert path.read_text() == "first"
