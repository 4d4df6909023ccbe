import pyarrow as pa
import pytest

from flows.shards import Scratch
from warehouse import BadInputError

NESTED = pa.table({"turns": [[{"role": "user", "text": "hi"}], [], None], "kept": [True, False, None]})


@pytest.mark.parametrize("where", ["{folder}/made/on/first/use", "file://{folder}/a", "memory://shards"])
def test_a_table_comes_back_as_it_was_written(tmp_path, where):
    scratch = Scratch(where.format(folder=tmp_path)).below("piece")

    assert not scratch.has("one.parquet")
    assert scratch.write("one.parquet", NESTED) == 3
    assert scratch.has("one.parquet")
    assert scratch.read("one.parquet").equals(NESTED)

    scratch.remove()
    with pytest.raises(FileNotFoundError):
        scratch.read("one.parquet")


def test_what_is_written_again_takes_the_place_of_what_was_there_and_leaves_nothing_else(tmp_path):
    scratch = Scratch(str(tmp_path))
    scratch.write("one.parquet", NESTED)
    scratch.write("one.parquet", NESTED.slice(1))

    assert scratch.read("one.parquet").equals(NESTED.slice(1))
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_what_is_not_there_can_be_removed(tmp_path):
    Scratch(str(tmp_path / "never")).remove()


@pytest.mark.parametrize("url", ["/proc/no/such", "no-such-protocol://a/b"])
def test_a_folder_that_cannot_be_written_is_told(url):
    with pytest.raises(BadInputError, match=f"--scratch {url}: "):
        Scratch(url).check()
