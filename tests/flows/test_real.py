"""A build over real dialogues, with the answers that a real model gave of them."""

import hashlib
import json
import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from evaluation.tracks import ABILITIES

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DIALOGUES = SHARED / "wildchat" / "alps_1m"
RECORDINGS = SHARED / "alps" / "recordings.parquet"
MODEL = "deepseek-reasoner"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.exists(), reason="the real dialogues are not part of the repository"),
]


@pytest.fixture(scope="module")
def real_home(command_of, built_once):
    """The home of a build of the real dialogues, one for all workers."""

    def build(home):
        name = f"models.extractor.name=recorded:{RECORDINGS}#{MODEL}"
        return command_of(home.parent).succeed(
            "build", "--home", home, "--source", DIALOGUES, "--set", name, seconds=580
        )

    return built_once("real", build)


@pytest.fixture
def ask(real_home):
    def ask(sql):
        with duckdb.connect(str(real_home / "alpsbench.duckdb"), read_only=True) as db:
            return db.execute(sql).fetchall()

    return ask


@pytest.fixture(scope="module")
def answers():
    """The recorded answers of the model, by conversation_hash."""
    rows = pq.read_table(RECORDINGS).to_pylist()
    return {row["subject"]: row["answer"] for row in rows if row["model"] == MODEL}


def is_one_json_value(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_every_dialogue_ends_in_memories_or_in_dropped_with_a_reason(ask):
    reached = "select distinct dialogue_id from memories"
    refused = """
        select item from dropped where stage = 'candidate_memories'
        union select dialogue_id from candidate_memories join dropped on item = candidate_id where stage = 'memories'
        union select dialogue_id from conversations join dropped on item = source_row
    """

    assert ask("select count(*), count(distinct dialogue_id) from conversations") == [(1535, 1535)]
    assert ask(f"select count(*) from (({reached}) union ({refused}))") == [(1535,)]
    assert ask("select count(*) from dropped where reason is null or reason = ''") == [(0,)]


def test_what_was_not_recorded_is_told_and_nothing_else_is_missing(ask, answers):
    missing = ask("""
        select conversation_hash from dropped join dialogues on item = dialogue_id
        where stage = 'candidate_memories' and reason = 'not_recorded'
    """)

    assert len(missing) == 5
    assert answers.keys().isdisjoint(conversation_hash for (conversation_hash,) in missing)


def test_an_answer_that_holds_one_json_value_is_never_called_unreadable(ask, answers):
    unreadable = {hash for (hash,) in ask("""
        select conversation_hash from dropped join dialogues on item = dialogue_id
        where stage = 'candidate_memories' and reason = 'schema_error'
    """)}  # fmt: skip
    asked = {hash for (hash,) in ask("select subject from calls where prompt = 'candidate_memories'")}

    assert len(asked) > 1400
    for hash in asked & answers.keys():
        if is_one_json_value(answers[hash]):
            assert hash not in unreadable


def test_what_a_readable_answer_lists_is_among_the_candidates_item_by_item(ask, answers):
    rows = ask("""
        select conversation_hash, count(number) from dialogues
        join candidate_memories using (dialogue_id) group by 1
    """)
    counts = dict(rows)
    listed = {
        hash: len(json.loads(answer)["memory_items"])
        for hash, answer in answers.items()
        if hash in counts and is_one_json_value(answer)
    }

    assert len(listed) > 1000
    assert {hash: counts[hash] for hash in listed} == listed


def test_all_twelve_tracks_have_rows(ask):
    tracks = {track for (track,) in ask("select distinct track from release_rows")}

    assert tracks == {
        *("task1", "task2"),
        *(f"task3_d{size}" for size in (100, 300, 500, 700, 1000)),
        *(f"task4_{ability}" for ability in ABILITIES.values()),
    }


def test_every_gate_passed_or_says_why_it_was_not_measured(ask, real_home, command_of):
    assert {verdict for (verdict,) in ask("select distinct verdict from audits")} == {"passed", "not_measured"}
    assert ask("select count(*) from audits where verdict = 'not_measured' and detail is null") == [(0,)]

    shown = command_of(real_home.parent).succeed("audit", "--home", real_home)

    assert "failed" not in shown


def test_the_kept_recipe_names_the_recordings_by_their_hash(real_home):
    digest = hashlib.sha256(RECORDINGS.read_bytes()).hexdigest()
    recipe = (real_home / "releases" / "draft" / "public" / "recipe.toml").read_text(encoding="utf-8")

    assert f'name = "recorded:sha256:{digest}#{MODEL}"' in recipe


def test_no_path_and_no_id_of_the_source_stands_in_a_public_file(real_home, ask):
    public = real_home / "releases" / "draft" / "public"
    text = "\n".join(path.read_text(encoding="utf-8") for path in public.rglob("*") if path.is_file())
    hashes = {hash for (hash,) in ask("select conversation_hash from conversations")}

    assert {len(hash) for hash in hashes} == {32}
    assert hashes.isdisjoint(re.findall(r"\b[0-9a-f]{32}\b", text))
    assert [path for path in (str(SHARED.parent), str(real_home), str(DIALOGUES.name)) if path in text] == []


def test_no_text_of_a_dialogue_stands_in_a_log(real_home, ask):
    long = {turn["text"] for (turns,) in ask("select turns from dialogues limit 100") for turn in turns}
    logs = [
        *(real_home / ".build").rglob("*.log"),
        *(real_home / ".build" / "checks").iterdir(),
        real_home.with_suffix(".log"),
    ]
    text = "".join(path.read_text(encoding="utf-8") for path in logs)

    assert [len(one) for one in long if len(one) > 60 and one in text] == []
