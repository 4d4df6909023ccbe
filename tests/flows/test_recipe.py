import tomllib

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as some

from flows.recipe import Recipe
from flows.recipe_file import read_recipe, recipe_text
from llm.served import Sampling
from warehouse import BadInputError


def file_of(tmp_path, text):
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(*changes, path=None):
    with pytest.raises(BadInputError) as refused:
        read_recipe(path, changes)
    return str(refused.value)


def test_without_a_file_the_numbers_are_the_papers():
    recipe = read_recipe(None)

    assert (recipe.dialogues.minimum, recipe.dialogues.maximum) == (6, 249)
    assert recipe.samples.limit == 2500
    assert recipe.retrieval.distractors == (100, 300, 500, 700, 1000)
    assert recipe.splits.dev + recipe.splits.examples == pytest.approx(0.2)
    assert (recipe.splits.validation, recipe.splits.test) == (0.2, 0.6)


def test_what_a_file_leaves_out_stays_as_it_was(tmp_path):
    recipe = read_recipe(file_of(tmp_path, "[samples]\nlimit = 7\n"))

    assert recipe.samples.limit == 7
    assert recipe.samples.label_cap == 1000
    assert recipe.dialogues == Recipe().dialogues


def test_an_unknown_key_is_refused_with_the_one_that_was_meant():
    assert refusal("samples.limits=7") == "the recipe: unknown key samples.limits; did you mean limit?"
    assert refusal("sample.limit=7") == "the recipe: unknown key sample; did you mean samples?"
    assert "did you mean extractor?" in refusal("models.extracter.name=offline")


def test_an_unknown_key_that_is_like_none_is_refused_with_all_there_are():
    assert refusal("updates.zzz=1") == "the recipe: unknown key updates.zzz; known here: noise_turns"


def test_an_unknown_key_inside_a_role_is_refused():
    assert refusal("models.judge.temprature=1") == (
        "the recipe: unknown key models.judge.temprature; did you mean temperature?"
    )
    assert refusal("models.judge.zzz=1") == (
        "the recipe: unknown key models.judge.zzz; "
        "known here: name, max_tokens, temperature, top_p, seed, reasoning_effort, batch"
    )


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("samples.limit=0", "samples.limit"),
        ("samples.limit=some", "samples.limit"),
        ("samples.label_floor=-1", "samples.label_floor"),
        ("samples.label_caps.Possessions/Pet=-1", "samples.label_caps.Possessions/Pet"),
        ("samples.label_floors.Possessions/Pet=some", "samples.label_floors.Possessions/Pet"),
        ("samples.label_caps=3", "samples.label_caps"),
        ("splits.test_roles.memory=1.5", "splits.test_roles.memory"),
        ("duplicate_memories.threshold=0", "duplicate_memories.threshold"),
        ("duplicate_dialogues.permutations=4096", "duplicate_dialogues.permutations"),
        ("updates.noise_turns=3", "updates.noise_turns"),
        ("leaks.rewrites=-1", "leaks.rewrites"),
        ("dialogues.unit=month", "dialogues.unit"),
        ("retrieval.distractors=[1,2,3]", "retrieval.distractors"),
        ("retrieval.distractors=[5,4,3,2,1]", "retrieval"),
        ("dialogues.minimum=300", "dialogues"),
        ("targets.minimum_confidence=nan", "targets.minimum_confidence"),
        ("leaks=3", "leaks"),
        ("models.judge.max_tokens=0", "models.judge.max_tokens"),
        ("models.judge.temperature=2.1", "models.judge.temperature"),
        ("models.judge.temperature=nan", "models.judge.temperature"),
        ("models.judge.top_p=0", "models.judge.top_p"),
        ("models.judge.seed=some", "models.judge.seed"),
        ("budget.max_usd=-1", "budget.max_usd"),
        ("budget.max_usd=inf", "budget.max_usd"),
        ("budget.max_usd=nan", "budget.max_usd"),
    ],
)
def test_a_value_out_of_range_is_refused_by_the_name_of_its_key(change, key):
    assert refusal(change).startswith(f"the recipe: {key}: ")


def test_shares_that_do_not_add_up_are_refused_with_their_sum():
    assert refusal("splits.test=0.7") == "the recipe: splits: the shares of splits add up to 1.1, not to 1"
    assert refusal("splits.test_roles.memory=0") == (
        "the recipe: splits.test_roles: the shares of test_roles add up to 0.75, not to 1"
    )


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("Possessions/Pets", "Possessions/Pet"),
        ("possessions/pet", "Possessions/Pet"),
        ("Long_Term", "Thoughts/Goals/Long_Term"),
        ("Prefrences/Foood", "Preferences/Food"),
        ("unmaped", "UNMAPPED"),
    ],
)
def test_a_label_that_is_none_is_refused_with_the_one_that_was_meant(label, meant):
    for table in ("label_caps", "label_floors"):
        assert refusal(f"samples.{table}.{label}=3") == (
            f"the recipe: samples.{table}: {label} is no label; did you mean {meant}?"
        )


def test_a_label_that_is_like_none_is_refused_with_all_there_are():
    told = refusal("samples.label_caps.zzz=3")

    assert told.startswith("the recipe: samples.label_caps: zzz is no label; there are Personal_Background/Identity, ")
    assert told.endswith(", UNMAPPED")
    assert told.count(", ") == 34


def test_a_cap_below_the_floor_of_its_label_is_refused():
    told = "the recipe: samples: the cap of Possessions/Pet, 4, is below its floor, 5"

    assert refusal("samples.label_caps.Possessions/Pet=4", "samples.label_floor=5") == told
    assert refusal("samples.label_cap=4", "samples.label_floors.Possessions/Pet=5") == told
    read_recipe(None, ["samples.label_cap=5", "samples.label_floors.Possessions/Pet=5"])


def test_floors_that_the_limit_may_have_no_room_for_are_refused():
    assert refusal("samples.label_floor=74") == (
        "the recipe: samples: the floors add up to 2516 memories, which may take more than the 2500 samples"
    )
    read_recipe(None, ["samples.label_floor=73"])  # 34 times 73 are 2,482


def test_labels_have_caps_and_floors_of_their_own_and_a_written_recipe_keeps_them(tmp_path):
    changes = ["samples.label_caps.UNMAPPED=0", "samples.label_floors.Plans/Schedule=2", "samples.label_cap=9"]

    recipe = read_recipe(file_of(tmp_path, recipe_text(read_recipe(None, changes))))

    assert recipe.samples.limits["UNMAPPED"] == (0, 0)
    assert recipe.samples.limits["Plans/Schedule"] == (9, 2)
    assert recipe.samples.limits["Possessions/Pet"] == (9, 0)
    assert dict(recipe.samples)["label_caps"] == {"UNMAPPED": 0}


def test_a_file_is_named_in_what_is_said_of_it(tmp_path):
    path = file_of(tmp_path, "[samples]\nlimmit = 7\n")

    assert refusal(path=path) == f"{path}: unknown key samples.limmit; did you mean limit?"


@pytest.mark.parametrize("text", ["[samples", "limit = \n", "a = 1\na = 2\n"])
def test_a_file_that_is_no_toml_is_refused(tmp_path, text):
    assert refusal(path=file_of(tmp_path, text)).startswith(f"{tmp_path}/recipe.toml is no TOML: ")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"about = '\xff'")

    assert refusal(path=path).startswith(f"{path} is no TOML: ")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert refusal(path=tmp_path / "none.toml") == (
        f"cannot read the recipe {tmp_path}/none.toml: No such file or directory"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deepseek-reasoner", "deepseek-reasoner"),
        ("gpt-5.2", "gpt-5.2"),
        ('"quoted"', "quoted"),
        ("recorded:a file=b.parquet#gpt-5.2", "recorded:a file=b.parquet#gpt-5.2"),
    ],
)
def test_set_takes_a_bare_word_as_a_text(text, name):
    assert read_recipe(None, [f"models.judge.name={text}"]).models.judge.name == name


def test_set_takes_numbers_and_lists_and_leaves_the_neighbours_of_a_knob_alone():
    changes = ["samples.limit=9", "retrieval.distractors=[1, 2, 3, 4, 5]", "targets.caps.VRA=3"]

    recipe = read_recipe(None, changes)

    assert recipe.samples.limit == 9
    assert recipe.retrieval.distractors == (1, 2, 3, 4, 5)
    assert (recipe.targets.caps.VRA, recipe.targets.caps.EI) == (3, 500)


def test_set_wins_over_the_file_and_the_last_one_over_those_before(tmp_path):
    path = file_of(tmp_path, "[samples]\nlimit = 7\nlabel_cap = 8\n")

    recipe = read_recipe(path, ["samples.limit=5", "samples.limit=6"])

    assert (recipe.samples.limit, recipe.samples.label_cap) == (6, 8)


@pytest.mark.parametrize("change", ["samples.limit", "=5", "", "samples.=5", ".limit=5", "samples..limit=5"])
def test_set_without_a_key_and_a_value_is_refused(change):
    assert refusal(change) == f"--set wants a.b=value, not {change!r}"


def test_set_below_what_is_no_table_is_refused(tmp_path):
    path = file_of(tmp_path, "about = 'x'\n")

    assert refusal("about.more=5", path=path) == "--set about.more: about is no table"


def test_a_value_cannot_bring_in_other_keys():
    assert "samples.limit" in refusal("samples.limit=5\nlabel_cap = 6")


def test_a_written_recipe_has_every_knob_and_reads_back_the_same(tmp_path):
    recipe = read_recipe(None, ["models.judge.name=gpt-5.2", "splits.test=0.5", "splits.validation=0.3"])

    text = recipe_text(recipe)

    assert read_recipe(file_of(tmp_path, text)) == recipe
    assert set(tomllib.loads(text)) == set(Recipe.model_fields)
    assert tomllib.loads(text)["models"]["judge"] == {"name": "gpt-5.2", "max_tokens": 8192, "batch": False}


def test_what_is_left_to_the_server_or_has_no_limit_is_not_written():
    text = recipe_text(read_recipe(None, ["models.judge.temperature=0.5", "models.judge.seed=7"]))

    judge = tomllib.loads(text)["models"]["judge"]
    assert judge == {"name": "offline", "max_tokens": 8192, "temperature": 0.5, "seed": 7, "batch": False}
    assert tomllib.loads(text)["budget"] == {}


def test_a_role_that_says_nothing_of_how_answers_are_drawn_leaves_it_to_the_server():
    recipe = read_recipe(None, ["models.judge.top_p=0.5", "models.judge.reasoning_effort=low"])

    assert recipe.models.auditor.sampling == Sampling()
    assert recipe.models.judge.sampling == Sampling(top_p=0.5, reasoning_effort="low")


@pytest.mark.parametrize(
    ("change", "nano_usd"),
    [(None, None), ("budget.max_usd=0", 0), ("budget.max_usd=12.5", 12_500_000_000), ("budget.max_usd=3", 3 * 10**9)],
)
def test_a_budget_is_counted_in_billionths_of_a_dollar(change, nano_usd):
    assert read_recipe(None, [change] if change else []).budget.most_nano_usd == nano_usd


@for_all(about=some.text(), name=some.text(min_size=1), share=some.floats(0, 1))
def test_whatever_a_recipe_holds_its_toml_holds(about, name, share):
    recipe = Recipe.model_validate(
        {
            "about": about,
            "models": {"judge": {"name": name}},
            "splits": {"examples": 0, "dev": share, "validation": 0, "test": 1 - share},
        }
    )

    assert Recipe.model_validate(tomllib.loads(recipe_text(recipe))) == recipe
