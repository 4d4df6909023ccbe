"""The README's commands, SQL and recipe do what it says."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from flows.__main__ import app
from flows.recipe_file import read_recipe

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for _, block in BLOCKS
    for line in block.splitlines()
    if line.startswith("alpsbench ")
]


def test_the_readme_has_commands():
    assert {words[0] for words in COMMANDS} == {"plan", "build", "sql", "trace", "audit", "gateway"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_understood(words):
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    with group.make_context("alpsbench", list(words)) as context:
        name, command, rest = group.resolve_command(context, list(words))
        assert command is not None
        command.make_context(name, rest).close()


@pytest.mark.slow
@pytest.mark.parametrize("words", [words for words in COMMANDS if words[0] == "sql"], ids=" ".join)
def test_every_query_has_rows(alpsbench, sample_home, words):
    assert len(alpsbench.succeed(*words, "--home", sample_home).splitlines()) > 1


RECIPES = [block for language, block in BLOCKS if language == "toml"]


@pytest.fixture
def recipes(tmp_path):
    """Give the recipes of the README, as they are read."""
    places = [tmp_path / f"{number}.toml" for number in range(len(RECIPES))]
    for place, text in zip(places, RECIPES, strict=True):
        place.write_text(text, encoding="utf-8")
    return [read_recipe(place) for place in places]


def test_a_recipe_with_the_numbers_of_the_default_is_the_default(recipes):
    assert read_recipe(None) in recipes


def test_the_models_and_the_money_of_a_recipe_are_those_that_it_says(recipes):
    [recipe] = [one for one in recipes if one.budget.max_usd]
    extractor = recipe.models.extractor
    assert (extractor.name, extractor.max_tokens, extractor.batch) == ("deepseek-reasoner", 8192, False)
    assert recipe.budget.max_usd == 50


@pytest.mark.parametrize("target", ["benchmark", "test", "check", "bench"])
def test_every_target_of_make_that_it_names_is_there(target):
    assert f"make {target}" in README
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
