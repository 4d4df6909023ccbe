import tomllib
from datetime import date

import pytest

from flows.recipe import Recipe
from flows.recipe_file import read_recipe, recipe_text
from stages.choice import Choice
from warehouse import BadInputError

FILTERS = """
[dialogues]
languages = ["English", "Chinese"]
countries = ["Peru"]
chat_models = ["gpt-4"]
toxic = "drop"
redacted = "drop"
since = 2023-05-01
until = "2023-05-31"
address_conversations = 1000
"""


@pytest.fixture
def read(tmp_path):
    def read(text, *changes):
        path = tmp_path / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        return read_recipe(path, changes)

    return read


def test_every_filter_is_off_unless_a_recipe_says_otherwise():
    assert dict(read_recipe(None).dialogues) == {
        **{"unit": "dialogue", "measure": "messages", "minimum": 6, "maximum": 249},
        **{"toxic": "keep", "redacted": "keep"},
        **dict.fromkeys(("languages", "chat_models", "countries", "since", "until")),
        **dict.fromkeys(("address_conversations", "address_countries", "address_languages")),
    }


def test_the_knobs_of_a_recipe_are_those_that_the_stage_asks_for():
    assert set(dict(Recipe().dialogues)) == set(Choice.__annotations__)


def test_filters_are_read_and_written_and_read_again_the_same(read):
    recipe = read(FILTERS)

    assert (recipe.dialogues.since, recipe.dialogues.until) == (date(2023, 5, 1), date(2023, 5, 31))
    assert recipe.dialogues.languages == ("English", "Chinese")
    assert Recipe.model_validate(tomllib.loads(recipe_text(recipe))) == recipe


def test_a_day_can_be_set_without_quotes():
    assert read_recipe(None, ["dialogues.since=2023-05-01"]).dialogues.since == date(2023, 5, 1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("since=2023-05-01T10:00:00", "wants a day such as 2023-05-01"),
        ("since=20230501", "wants a day such as 2023-05-01, not 20230501"),
        ("until=May", "dialogues.until"),
        ("until=2023-02-30", "dialogues.until"),
        ("languages=[]", "dialogues.languages"),
        ('countries=[""]', "dialogues.countries"),
        ("toxic=maybe", "dialogues.toxic"),
        ("address_countries=0", "dialogues.address_countries"),
    ],
)
def test_what_is_no_filter_is_refused_by_its_name(change, told):
    with pytest.raises(BadInputError, match=told):
        read_recipe(None, [f"dialogues.{change}"])


def test_days_in_the_wrong_order_are_refused():
    with pytest.raises(BadInputError, match="since 2023-05-02 is after until 2023-05-01"):
        read_recipe(None, ["dialogues.since=2023-05-02", "dialogues.until=2023-05-01"])
