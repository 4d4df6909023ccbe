import pytest

from llm.catalogue import Entry, entry_of
from llm.errors import ModelError
from warehouse import BadInputError


@pytest.fixture
def extra(tmp_path):
    def do(text):
        path = tmp_path / "models.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return do


@pytest.mark.parametrize("name", ["deepseek-reasoner", "gpt-5.2", "gpt-4.1-mini"])
def test_the_models_of_the_paper_are_known(name):
    entry = entry_of(name)
    assert (entry.name, entry.served_as) == (name, name)
    assert entry.url.startswith("https://")
    assert entry.key_variable


def test_a_file_of_ones_own_adds_models_and_keeps_the_others(extra):
    path = extra('[mine]\nurl = "http://127.0.0.1:9/v1"\nserved_as = "mine-q4"\n')
    assert entry_of("mine", path) == Entry("mine", "http://127.0.0.1:9/v1", "mine-q4", None)
    assert entry_of("gpt-5.2", path) == entry_of("gpt-5.2")


def test_a_file_of_ones_own_replaces_a_model(extra):
    path = extra('["gpt-5.2"]\nurl = "http://gateway/v1"\nserved_as = "g"\nkey_variable = "GATEWAY_KEY"\n')
    assert entry_of("gpt-5.2", path) == Entry("gpt-5.2", "http://gateway/v1", "g", "GATEWAY_KEY")


def test_an_unknown_name_is_told_with_the_known_ones(extra):
    path = extra('[mine]\nurl = "http://127.0.0.1:9/v1"\nserved_as = "m"\n')
    with pytest.raises(ModelError) as error:
        entry_of("gpt-9", path)
    assert str(error.value) == ("unknown model 'gpt-9'; known: offline, deepseek-reasoner, gpt-4.1-mini, gpt-5.2, mine")


@pytest.mark.parametrize(
    "text",
    ["[mine", "[mine]\nurl = 3\n", '[mine]\nurl = "http://x"\n', "mine = 1\n", b'[mine]\nurl = "\xff"\n'],
    ids=["no TOML", "a number", "a field is missing", "no table", "no UTF-8"],
)
def test_a_file_that_is_no_catalogue_is_told_in_one_line(extra, text):
    path = extra(text)
    with pytest.raises(BadInputError) as error:
        entry_of("mine", path)
    assert str(error.value).startswith(f"the catalogue {path} is not right: ")
    assert "\n" not in str(error.value)


def test_a_key_in_the_catalogue_is_refused_and_not_shown(extra):
    path = extra('[mine]\nurl = "http://x"\nserved_as = "m"\nkey = "sk-0123456789"\n')
    with pytest.raises(BadInputError) as error:
        entry_of("mine", path)
    assert "sk-0123456789" not in str(error.value)


def test_a_catalogue_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInputError, match=r"^cannot read the catalogue .*none\.toml: No such file or directory$"):
        entry_of("gpt-5.2", tmp_path / "none.toml")
