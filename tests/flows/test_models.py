import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.models import models_of, names_of, stored
from flows.recipe import ROLES, read_recipe, recipe_text
from flows.settings import Settings
from llm.errors import ModelError
from llm.ledger import Ledger
from llm.offline import Offline
from llm.recorded import Recorded
from llm.served import Served
from warehouse import BadInputError


@pytest.fixture
def recordings(tmp_path):
    path = tmp_path / "answers #1.parquet"
    rows = [("reader", "memories", "h1", "{}"), ("writer", "memories", "h1", "[]")]
    columns = dict(zip(("model", "prompt", "subject", "answer"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)
    return path


def chosen(*changes, catalogue=None):
    recipe = read_recipe(None, changes)
    settings = Settings(catalogue=catalogue)
    return recipe, models_of(recipe, settings, Ledger())


def refusal(name, **settings):
    with pytest.raises((BadInputError, ModelError)) as refused:
        chosen(f"models.auditor.name='{name}'", **settings)
    return str(refused.value)


def test_each_role_has_its_model_and_roles_of_one_name_share_it(recordings):
    recipe, models = chosen(f"models.extractor.name='recorded:{recordings}#reader'")

    assert set(models) == set(names_of(recipe)) == set(ROLES)
    assert isinstance(models["extractor"].provider, Recorded)
    assert isinstance(models["judge"].provider, Offline)
    assert models["judge"].provider is models["auditor"].provider


def test_a_recording_of_another_model_has_another_identity(recordings):
    _, models = chosen(
        f"models.extractor.name='recorded:{recordings}#reader'",
        f"models.validator.name='recorded:{recordings}#writer'",
    )

    assert models["extractor"].identity != models["validator"].identity


def test_the_kept_recipe_names_a_recording_by_its_hash_and_not_by_its_path(recordings):
    recipe, models = chosen(f"models.extractor.name='recorded:{recordings}#reader'", "samples.limit=3")

    kept = stored(recipe, models)

    digest = hashlib.sha256(recordings.read_bytes()).hexdigest()
    assert kept.models.extractor.name == f"recorded:sha256:{digest}#reader"
    assert str(recordings.parent) not in recipe_text(kept)
    assert kept.models.judge.name == "offline"
    assert kept.samples == recipe.samples


@pytest.mark.parametrize("name", ["recorded:answers.parquet", "recorded:#reader", "recorded:"])
def test_a_recording_without_file_and_model_is_refused(name):
    assert refusal(name) == f"'{name}' names no model: write recorded:FILE#model"


def test_a_recording_that_is_not_there_is_refused(tmp_path):
    assert refusal(f"recorded:{tmp_path}/none.parquet#reader") == f"no recordings at {tmp_path}/none.parquet"


def test_a_recording_of_no_such_model_is_refused_with_those_it_has(recordings):
    assert refusal(f"recorded:{recordings}#judge") == (
        f"{recordings} holds no answer of 'judge'; it has reader, writer"
    )


def test_a_recording_without_answers_of_the_model_asked_for_is_refused(recordings):
    assert refusal(f"recorded:{recordings}#") == f"{recordings} holds no answer of ''; it has reader, writer"


def test_a_recording_of_another_form_is_refused(tmp_path):
    text, table = tmp_path / "text.parquet", tmp_path / "table.parquet"
    text.write_text("no parquet")
    pq.write_table(pa.table({"model": ["reader"]}), table)

    for path in (text, table, tmp_path):
        assert refusal(f"recorded:{path}#reader").startswith(
            f"{path} is no Parquet file with the columns model, prompt, subject, answer"
        )


def test_an_unknown_model_is_refused_with_those_that_are_known():
    message = refusal("gpt-0")

    assert message.startswith("unknown model 'gpt-0'; known: offline, ")
    assert "deepseek-reasoner" in message


def test_a_model_without_its_key_is_refused_by_the_name_of_the_variable(tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text("[mine]\nurl = 'http://127.0.0.1:1'\nserved_as = 'm'\nkey_variable = 'NOBODY_SETS_THIS_KEY'\n")

    assert refusal("mine", catalogue=catalogue) == (
        "the model mine wants its key in NOBODY_SETS_THIS_KEY, which is not set"
    )


def test_a_role_that_a_build_does_not_ask_needs_no_key(tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text("[mine]\nurl = 'http://127.0.0.1:1'\nserved_as = 'm'\nkey_variable = 'NOBODY_SETS_THIS_KEY'\n")

    _, models = chosen("models.judge.name=mine", catalogue=catalogue)

    assert models["judge"].name == "mine"


def test_a_catalogue_of_ones_own_adds_models(tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text("[mine]\nurl = 'http://127.0.0.1:1'\nserved_as = 'm'\n")

    _, models = chosen("models.judge.name=mine", catalogue=catalogue)

    assert isinstance(models["judge"].provider, Served)
    assert "127.0.0.1" not in str(models["judge"].identity)


@pytest.mark.parametrize("text", ["[mine", "[mine]\nurl = 'x'\n", "[mine]\nurl = 'x'\nserved_as = 'm'\nkey = 'k'\n"])
def test_a_catalogue_of_another_form_is_refused_without_what_stands_in_it(tmp_path, text):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(text)

    assert refusal("mine", catalogue=catalogue).startswith(f"the catalogue {catalogue} is not right: ")


def test_a_catalogue_that_is_not_there_is_refused(tmp_path):
    assert refusal("mine", catalogue=tmp_path / "none.toml") == (
        f"cannot read the catalogue {tmp_path}/none.toml: No such file or directory"
    )
