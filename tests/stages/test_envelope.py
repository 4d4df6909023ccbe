import hashlib
import json

import pytest

from evaluation.gates import INPUTS
from evaluation.tracks import tracks_of
from stages.envelope import input_rows, reference_rows

TRACKS = {track.name: track for track in tracks_of((2, 3))}
MESSAGES = "struct(role varchar, text varchar)[]"
STATES = (
    "struct(memory_id varchar, type varchar, label varchar, value varchar, confidence double, evidence_text varchar)[]"
)
RELEASE_ROWS = """
    benchmark_id  | track          | split | item_id | memory_id
    ---
    task1-b       | task1          | test  | i1b     |
    task1-a       | task1          | test  | i1a     |
    task1-c       | task1          | dev   | i1c     |
    task2-a       | task2          | test  | i2      | m1
    task3_d2-a    | task3_d2       | test  | i3      | m1
    task3_d3-a    | task3_d3       | test  | i3      | m1
    task4_ab1-a   | task4_ability1 | test  | i4      | m1
    task4_ab2-a   | task4_ability2 | test  | i5      | m1
    task4_ab2-b   | task4_ability2 | test  | i6      | m1
"""
DIALOGUES = f"""
    dialogue_id | turns::{MESSAGES}
    ---
    d1          | [{{'role': user, 'text': My dog Rex}}, {{'role': assistant, 'text': Nice}}]
"""
MEMORY_TABLE = """
    memory_id | user_id | dialogue_id | type     | label           | value     | confidence::double | evidence_text
    ---
    m1        | u1      | d1          | direct   | Possessions/Pet | Has a dog | 0.95               | My dog Rex
    m7        | u7      | d7          | indirect | Plans/Schedule  | Is busy   | 0.65               | So busy
    m8        | u7      | d7          | direct   | Possessions/Pet | Has a cat | 0.95               | My cat
    m9        | u7      | d7          | direct   | Possessions/Car | Has a van | 0.95               | My van
"""
SPLITS = """
    user_id | split
    ---
    u1      | test
    u7      | bank
"""
TURNS = [{"role": "user", "text": "My dog Rex"}, {"role": "assistant", "text": "Nice"}]
DOG = {"type": "direct", "label": "Possessions/Pet", "value": "Has a dog", "confidence": 0.95}
STATE = (
    "{{'memory_id': {0}, 'type': direct, 'label': Possessions/Pet, 'value': {1}, 'confidence': 0.95, "
    "'evidence_text': {2}}}"
)
ACTIONS = "struct(memory_id varchar, action varchar)[]"


def state(memory_id, value, evidence):
    return DOG | {"memory_id": memory_id, "value": value, "evidence_text": evidence}


@pytest.fixture
def db(given):
    old, changed, new = (
        STATE.format("x1", "Has a dog", "My dog Rex"),
        STATE.format("x1_updated", "Had a dog", "Rex died"),
        STATE.format("x2", "Has a fish", "My fish"),
    )
    said = "[{'role': user, 'text': Rex died}]"
    actions = "[{'memory_id': x1_updated, 'action': Modification}, {'memory_id': x2, 'action': Addition}]"
    return given(
        release_rows=RELEASE_ROWS,
        dialogues=DIALOGUES,
        memories=MEMORY_TABLE,
        splits=SPLITS,
        extraction_items=f"""
            item_id | dialogue_id | dialogue::{MESSAGES} | gold::{STATES}
            ---
            i1a     | d1 | [{{'role': user, 'text': One}}]   | [{STATE.format("m1", "Has a dog", "My dog Rex")}]
            i1b     | d2 | [{{'role': user, 'text': Two}}]   | [{STATE.format("m2", "Has a cow", "My cow")}]
            i1c     | d3 | [{{'role': user, 'text': Three}}] | [{STATE.format("m3", "Has a hen", "My hen")}]
        """,
        update_items=f"""
            item_id | dialogue_id | memory::{STATES} | answer::{STATES} | actions::{ACTIONS} | new_dialogue::{MESSAGES}
            ---
            i2      | d1          | [{old}]            | [{changed}, {new}] | {actions}          | {said}
        """,
        retrieval_items="""
            item_id | memory_id | query            | distractor_ids::varchar[] | places::integer[]
            ---
            i3      | m1        | What toy to buy? | [m7, m8, m9]              | [2, 1]
        """,
        utilization_items="""
            item_id | ability        | memory_id | query         | reference_answer | rubric
            ---
            i4      | PA             | m1        | What to buy?  | A bone           | Says bone
            i5      | PF_general     | m1        | Where to go?  | A park           | Says park
            i6      | PF_interaction | m1        | How to start? | Woof             | Says woof
        """,
    )


def test_a_track_has_the_rows_of_its_split_in_the_order_of_their_ids(db):
    for rows in (input_rows, reference_rows):
        assert [row["benchmark_id"] for row in rows(db, TRACKS["task1"], "test")] == ["task1-a", "task1-b"]
        assert [row["benchmark_id"] for row in rows(db, TRACKS["task1"], "dev")] == ["task1-c"]
        assert list(rows(db, TRACKS["task1"], "examples")) == []


def test_task_1_shows_a_dialogue_and_wants_its_memories(db):
    [shown] = input_rows(db, TRACKS["task1"], "dev")
    [gold] = reference_rows(db, TRACKS["task1"], "dev")
    assert shown == {
        "benchmark_id": "task1-c",
        "task": "task1",
        "input": {"dialogue": [{"role": "user", "text": "Three"}]},
    }
    assert gold == {
        "benchmark_id": "task1-c",
        "task": "task1",
        "gold": {"memory_items": [state("m3", "Has a hen", "My hen")]},
    }


def test_task_2_shows_the_old_state_and_both_dialogues_and_wants_the_new_state(db):
    [shown] = input_rows(db, TRACKS["task2"], "test")
    query = shown["input"].pop("query")
    assert "_updated" in query
    assert shown == {
        "benchmark_id": "task2-a",
        "task": "task2",
        "input": {
            "memory": [state("x1", "Has a dog", "My dog Rex")],
            "old_dialogue": TURNS,
            "new_dialogue": [{"role": "user", "text": "Rex died"}],
        },
    }
    [gold] = reference_rows(db, TRACKS["task2"], "test")
    assert gold == {
        "benchmark_id": "task2-a",
        "task": "task2",
        "gold": {
            "answer": [state("x1_updated", "Had a dog", "Rex died"), state("x2", "Has a fish", "My fish")],
            "actions": {"x1_updated": "Modification", "x2": "Addition"},
        },
    }


def candidate_id(size, place):
    return "c" + hashlib.sha256(f"candidate|i3|{size}|{place}".encode()).hexdigest()[:16]


@pytest.mark.parametrize(("size", "place", "distractors"), [(2, 2, "m7 m8"), (3, 1, "m7 m8 m9")])
def test_task_3_shows_the_target_at_its_place_among_the_first_distractors(db, size, place, distractors):
    values = {"m7": "Is busy", "m8": "Has a cat", "m9": "Has a van"}
    [shown] = input_rows(db, TRACKS[f"task3_d{size}"], "test")
    pool = shown["input"]["candidate_memories"]
    right = {"memory_id": candidate_id(size, place), "value": "Has a dog", "label": "Possessions/Pet"}
    assert pool[place] == right
    assert [one["memory_id"] for one in pool] == [candidate_id(size, one) for one in range(size + 1)]
    others = {one["value"] for one in pool if one is not pool[place]}
    assert others == {values[one] for one in distractors.split()}
    assert {(one["value"], one["label"]) for one in pool} <= {
        ("Has a dog", "Possessions/Pet"),
        ("Is busy", "Plans/Schedule"),
        ("Has a cat", "Possessions/Pet"),
        ("Has a van", "Possessions/Car"),
    }
    assert (shown["task"], shown["input"]["query"]) == ("task3", "What toy to buy?")
    [gold] = reference_rows(db, TRACKS[f"task3_d{size}"], "test")
    assert gold == {
        "benchmark_id": f"task3_d{size}-a",
        "task": "task3",
        "gold": {"selected_memory_id": right["memory_id"], "selected_memory": right},
    }


def test_the_order_of_a_pool_cannot_be_told_from_what_is_public(given):
    bank = [f"b{number:03}" for number in range(40)]
    memories = [f"{one} | bank | d | direct | Plans/Schedule | Value {one} | 0.95 | said" for one in bank]
    head = "memory_id | user_id | dialogue_id | type | label | value | confidence::double | evidence_text"
    db = given(
        memories="\n".join([head, "---", *memories, "m1 | u1 | d1 | direct | Plans/Schedule | Value m1 | 0.95 | said"]),
        splits="user_id | split\n---\nbank | bank\nu1 | test",
        release_rows="benchmark_id | track | split | item_id | memory_id\n---\n"
        "task3_d40-a | task3_d40 | test | i3 | m1",
        retrieval_items="item_id | query | distractor_ids::varchar[] | places::integer[]\n---\n"
        f"i3 | What? | [{', '.join(bank)}] | [20]",
    )
    [track] = [track for track in tracks_of((40,)) if track.task == "task3"]
    [shown] = input_rows(db, track, "test")
    pool = [one["value"] for one in shown["input"]["candidate_memories"] if one["value"] != "Value m1"]
    assert sorted(pool) == [f"Value {one}" for one in bank]
    known = [shown["benchmark_id"], track.name, "40", ""]
    for guess in (*known, *(f"order|{one}" for one in known)):
        hashes = [hashlib.sha256(f"{guess}|{value}|Plans/Schedule".encode()).hexdigest() for value in pool]
        assert hashes != sorted(hashes)
    assert pool not in (sorted(pool), sorted(pool, reverse=True))


@pytest.mark.parametrize(
    ("track", "ability", "items"),
    [
        ("task4_ability1", "ability1", [("task4_ab1-a", "PA", "What to buy?", "A bone", "Says bone")]),
        (
            "task4_ability2",
            "ability2",
            [
                ("task4_ab2-a", "PF_general", "Where to go?", "A park", "Says park"),
                ("task4_ab2-b", "PF_interaction", "How to start?", "Woof", "Says woof"),
            ],
        ),
    ],
)
def test_task_4_shows_a_query_with_the_memory_or_the_dialogue_it_comes_from(db, track, ability, items):
    inputs, references = input_rows(db, TRACKS[track], "test"), reference_rows(db, TRACKS[track], "test")
    for shown, gold, (benchmark_id, kind, query, answer, rubric) in zip(inputs, references, items, strict=True):
        # The id of the memory elsewhere would tell where the row comes from.
        opaque = "c" + hashlib.sha256(f"candidate|{benchmark_id}|0".encode()).hexdigest()[:16]
        memory = state(opaque, "Has a dog", "My dog Rex")
        row = {"benchmark_id": benchmark_id, "task": "task4", "ability": ability}
        history = {"selected_memory": memory} if kind == "PA" else {"dialogue_history": TURNS}
        assert shown == row | {"input": {"model_input": {"query": query, **history}}}
        told = {"selected_memory": memory, "reference_answer": answer, "rubric": rubric, "variant": kind}
        assert gold == row | {"gold": told}


SEALED = {
    "task1": ["m1", "m2", "Has a", "Possessions", "d1", "i1a"],
    "task2": ["m1", "x2", "Had a dog", "Has a fish", "Modification", "Addition", "d1", "i2"],
    "task3_d2": ["m1", "m7", "m8", "d1", "d7", "u7", "i3", "My dog"],
    "task3_d3": ["m1", "m9", "d7", "u1", "i3", "My dog"],
    "task4_ability1": ["m1", "A bone", "Says bone", "PA", "d1", "i4"],
    "task4_ability2": ["m1", "A park", "Says", "Woof", "PF", "Has a dog", "Possessions", "d1", "i5"],
}


@pytest.mark.parametrize("track", SEALED)
def test_an_input_row_holds_nothing_of_the_gold_nor_of_where_it_comes_from(db, track):
    rows = list(input_rows(db, TRACKS[track], "test"))
    assert rows
    texts = json.dumps([row["input"] for row in rows]).replace('"memory_id": "c', "")
    assert [text for text in SEALED[track] if f'"{text}' in texts] == []
    assert all(row["input"].keys() == INPUTS[row["task"]][0].keys() for row in rows)
