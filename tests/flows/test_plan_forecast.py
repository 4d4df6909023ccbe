"""How many calls a plan foresees where no table tells."""

from dataclasses import replace

import pytest

from annotation.desk import NoDesk
from flows.build import Built
from flows.planning.forecast import calls_of, sizes_of
from flows.planning.rehearsal import Rehearsal
from flows.planning.usual import FIGURES, RATIOS, History, Spread, Usual
from flows.recipe import Recipe, Retrieval
from flows.run import Job, plan_of
from llm.catalogue import Entry
from llm.gateway import Model
from llm.ledger import Ledger
from llm.offline import Offline
from llm.served import Served
from stages.secret import Secret
from stages.source import Source
from warehouse import Home, connect

ROLES = ("extractor", "validator", "generator", "auditor", "judge")


@pytest.fixture
def job(tmp_path):
    served = Model(Served(Entry("fable", "http://127.0.0.1:9/v1", "fable"), None), Ledger())
    models = dict.fromkeys(ROLES, served) | {"auditor": Model(Offline())}
    source = Source((), tmp_path)
    return Job(Home(tmp_path), Recipe(), source, Secret("a"), models, NoDesk(), Ledger())


@pytest.fixture
def foresee(job):
    """Foresee a build where so many rows of some tables are there."""

    def foresee(rows, conversations="", history=None, recipe=None):
        ordered = replace(job, recipe=recipe or job.recipe)
        fingerprints = {step.table.name: step.table.fingerprint for step in plan_of(ordered, {}).steps}
        built = {name: Built(fingerprints[name], place, 1.0, count) for place, (name, count) in enumerate(rows.items())}
        steps = plan_of(ordered, built).steps
        with connect() as db:
            db.execute(conversations)
            rehearsal = Rehearsal(db, steps, built)
            sizes = sizes_of(ordered, steps, rehearsal)
            return sizes, {one.stage: one for one in calls_of(ordered, steps, rehearsal, sizes, history or History({}))}

    return foresee


def test_every_stage_that_asks_a_model_has_figures(job):
    asking = {step.table.name for step in plan_of(job, {}).steps if step.role}

    assert asking == FIGURES.keys()
    for name in asking:
        low, expected, high = FIGURES[name]["completion"]
        assert 0 < low <= expected <= high


def test_where_nothing_is_built_figures_are_for_a_thousand_dialogues(foresee):
    sizes, calls = foresee({})

    assert (sizes.dialogues, sizes.is_known) == (1000, False)
    # 750 users have 675 samples; a bank of 1,200 memories takes 364 users, of which 38 have no sample.
    assert sizes.samples == pytest.approx(675 - (1200 / 3.3 - 37.5))
    assert calls["candidate_memories"].new == 1000
    assert calls["memories"].new == 980
    assert calls["update_items"].new == round(0.55 * sizes.samples)
    assert all(one.is_forecast and one.known == 0 for one in calls.values())


@pytest.mark.parametrize(
    ("rows", "pools", "made"),
    [
        ({"dialogues": 1535, "users": 1114, "duplicate_dialogues": 48}, 1000, (1462, 385, 894)),
        ({"dialogues": 381, "users": 358, "duplicate_dialogues": 3}, 25, (377, 187, 428)),
    ],
)
def test_the_builds_that_the_figures_were_measured_on_are_foreseen_within_a_tenth(foresee, job, rows, pools, made):
    sizes = (*range(1, 5), pools)

    _, calls = foresee({"conversations": 1535, **rows}, recipe=Recipe(retrieval=Retrieval(distractors=sizes)))

    foreseen = [calls[name].new for name in ("memories", "update_items", "query_drafts")]
    assert foreseen == [pytest.approx(number, rel=0.1) for number in made]


def test_with_conversations_alone_those_that_pass_the_filter_are_counted(foresee):
    drawn = """
        create table conversations as select 'd' || i as dialogue_id, 'u' as user_id, '0' as shard, i as row,
            (if(i < 300, 6, 5))::integer as messages, 3 as rounds, 'h' || i as conversation_hash, true as user_known,
            null::timestamptz as ended_at, null::text as language, null::text as country, null::text as chat_model,
            null::boolean as toxic, null::boolean as redacted, false as language_detected,
            '0:' || i as source_row, 'wildchat_1m' as source_schema
            from range(1000) t(i)
    """

    sizes, calls = foresee({"conversations": 1000}, drawn)

    assert sizes.is_known
    assert sizes.dialogues == pytest.approx(300 * RATIOS["read"])
    assert calls["candidate_memories"].new == round(300 * RATIOS["read"])


def test_with_dialogues_and_duplicates_the_dialogues_to_read_are_known(foresee):
    sizes, _ = foresee({"conversations": 1000, "dialogues": 700, "duplicate_dialogues": 100})

    assert (sizes.dialogues, sizes.is_known) == (600, True)


def test_samples_are_no_more_than_the_recipe_allows_and_the_bank_is_made_of_others(foresee):
    sizes, _ = foresee({"conversations": 9000, "dialogues": 9000, "users": 9000, "duplicate_dialogues": 0})

    assert sizes.samples == Recipe().samples.limit == 2500


def test_samples_that_are_there_are_counted(foresee):
    rows = {"dialogues": 100, "users": 90, "duplicate_dialogues": 0}
    curated = ("candidate_memories", "memories", "duplicate_memories", "sample_memories")

    sizes, calls = foresee(
        {"conversations": 100, **rows, **dict.fromkeys(curated, 5), "samples": 80},
        recipe=Recipe(retrieval=Retrieval(distractors=(1, 2, 3, 4, 5))),
    )

    assert sizes.samples == 80  # ten users without one are enough for a bank of six memories
    assert calls["update_items"].new == 44


def test_a_free_model_has_calls_and_no_price(foresee):
    _, calls = foresee({})

    assert calls["leak_checks"].is_free
    assert calls["leak_checks"].new > 0
    assert not calls["memories"].is_free


def test_prompts_are_as_long_as_the_ledger_knows_or_as_they_were_measured(foresee):
    known = History({("fable", "update_items"): Usual(100, Spread(1, 2, 3), is_measured_here=True)})

    _, calls = foresee({}, history=known)

    assert calls["update_items"].prompt_tokens == 100 * calls["update_items"].new
    assert calls["query_drafts"].prompt_tokens == FIGURES["query_drafts"]["prompt"] * calls["query_drafts"].new


def test_what_leaks_is_written_again_as_often_as_the_recipe_has_it(foresee):
    _, calls = foresee({})

    assert {name: one.rounds for name, one in calls.items() if one.rounds > 1} == {
        "query_drafts": 1 + Recipe().leaks.rewrites
    }
