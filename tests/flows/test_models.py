import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.models import check_keys, models_of, names_of, stored
from flows.recipe import ROLES
from flows.recipe_file import read_recipe, recipe_text
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


def chosen(*changes, **told):
    recipe = read_recipe(None, changes)
    settings = Settings(**told)
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

    _, models = chosen("models.auditor.name=mine", catalogue=catalogue)

    with pytest.raises(BadInputError) as refused:
        check_keys(models, ["auditor"])
    assert str(refused.value) == "the model mine wants its key in NOBODY_SETS_THIS_KEY, which is not set"


def test_a_role_that_a_build_does_not_ask_needs_no_key(tmp_path):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text("[mine]\nurl = 'http://127.0.0.1:1'\nserved_as = 'm'\nkey_variable = 'NOBODY_SETS_THIS_KEY'\n")

    _, models = chosen("models.judge.name=mine", catalogue=catalogue)

    assert models["judge"].name == "mine"
    check_keys(models, ["extractor", "validator", "generator", "auditor"])


@pytest.fixture
def catalogue(tmp_path):
    """A catalogue of three models at two addresses."""
    path = tmp_path / "catalogue.toml"
    path.write_text(
        "[mine]\nurl = 'http://127.0.0.1:1'\nserved_as = 'm'\nconcurrency = 5\n"
        "[same]\nurl = 'http://127.0.0.1:1'\nserved_as = 's'\nconcurrency = 5\n"
        "[other]\nurl = 'http://127.0.0.1:2'\nserved_as = 'o'\n"
    )
    return path


def test_a_catalogue_of_ones_own_adds_models(catalogue):
    _, models = chosen("models.judge.name=mine", catalogue=catalogue)

    assert isinstance(models["judge"].provider, Served)
    assert "127.0.0.1" not in str(models["judge"].identity)


def test_who_calls_at_one_address_shares_its_pace(catalogue):
    roles = ["models.judge.name=mine", "models.auditor.name=same", "models.validator.name=other"]

    _, models = chosen(*roles, catalogue=catalogue)

    paces = {role: models[role].provider.terms.pace for role in ("judge", "auditor", "validator")}
    assert paces["judge"] is paces["auditor"]
    assert paces["judge"] is not paces["validator"]


@pytest.mark.parametrize(("told", "calls"), [({}, 5), ({"concurrency": 3}, 3), ({"concurrency": 200}, 200)])
def test_as_many_calls_are_made_at_once_as_the_setting_or_else_the_catalogue_says(catalogue, told, calls):
    _, models = chosen("models.judge.name=mine", catalogue=catalogue, **told)

    assert models["judge"].provider.terms.concurrency == calls


def test_how_a_role_draws_answers_is_part_of_what_its_model_is(catalogue):
    _, models = chosen(
        *("models.judge.name=mine", "models.auditor.name=mine", "models.validator.name=mine"),
        *("models.judge.temperature=0.5", "models.auditor.max_tokens=100"),
        catalogue=catalogue,
    )

    assert models["judge"].identity["sampling"] == {"temperature": 0.5}
    assert models["auditor"].identity == models["validator"].identity != models["judge"].identity
    assert models["auditor"].provider.limits == (100, 400)


def test_every_model_keeps_to_the_one_budget_of_the_home():
    _, models = chosen("budget.max_usd=2.5")
    _, free = chosen()

    assert {model.most_nano_usd for model in models.values()} == {2_500_000_000}
    assert {model.most_nano_usd for model in free.values()} == {None}


def test_only_a_role_that_wants_batches_is_asked_in_batches(catalogue):
    _, models = chosen(
        *("models.judge.name=mine", "models.judge.batch=true", "models.auditor.name=mine"), catalogue=catalogue
    )

    assert models["judge"].provider.terms.is_batched
    assert not models["auditor"].provider.terms.is_batched


def test_the_kept_recipe_says_nothing_of_money_and_of_the_way_that_calls_take(catalogue):
    roles = ["models.judge.name=mine", "models.judge.batch=true", "models.judge.seed=7"]
    recipe, models = chosen(*roles, "budget.max_usd=2.5", catalogue=catalogue)

    kept = stored(recipe, models)

    assert (kept.models.judge.name, kept.models.judge.seed, kept.models.judge.batch) == ("mine", 7, False)
    assert kept.budget.max_usd is None


@pytest.mark.parametrize("text", ["[mine", "[mine]\nurl = 'x'\n", "[mine]\nurl = 'x'\nserved_as = 'm'\nkey = 'k'\n"])
def test_a_catalogue_of_another_form_is_refused_without_what_stands_in_it(tmp_path, text):
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text(text)

    assert refusal("mine", catalogue=catalogue).startswith(f"the catalogue {catalogue} is not right: ")


def test_a_catalogue_that_is_not_there_is_refused(tmp_path):
    assert refusal("mine", catalogue=tmp_path / "none.toml") == (
        f"cannot read the catalogue {tmp_path}/none.toml: No such file or directory"
    )
