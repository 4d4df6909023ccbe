import copy
import json
from dataclasses import replace

import pytest

from evaluation.gates import Facts, audit, unmeasured
from evaluation.leaks import Limits

FACTS = Facts(item_ids=None, limits=Limits(2, 0.5), verified_share=1.0, auditor_leaks=frozenset())
TEST_TRACKS = ("task1", "task2", "task3_d9", "task4_ability1", "task4_ability3")


def test_a_sound_release_passes_every_gate_that_can_be_measured(draft):
    gates = draft.audit()
    assert {gate.gate for gate in gates if gate.verdict != "passed"} == {
        "not_guessable_without_memory",
        "answer_depends_on_memory",
    }
    assert all(gate.figure <= gate.bound and not gate.rows for gate in gates if gate.verdict == "passed")
    assert len({(gate.gate, gate.track) for gate in gates}) == len(gates)


def test_a_gate_counts_what_it_looked_at(draft):
    seen = {gate.gate: gate.of for gate in draft.audit()}
    # 9 tracks of 20 rows, 11 of them held out; pools of 10 and 20; 5 tracks of task 4 and 2 of task 3 have a query.
    assert seen["unique_benchmark_ids"] == seen["envelope_only"] == seen["rows_conserved"] == 180
    assert seen["unique_candidate_ids"] == 20 * (10 + 20)
    assert seen["gold_hidden"] == 99
    assert seen["no_lexical_leak"] == 140
    # Task 3 has one item for the rows of both its pool sizes.
    assert seen["items_conserved"] == 160


def test_a_row_that_stands_twice_is_told(draft):
    shown, gold, _ = draft.row("dev", "task1")
    draft.inputs["dev", "task1"].append(shown)
    draft.references["dev", "task1"].append(gold)
    told = (shown["benchmark_id"],)
    assert draft.failed() == {("unique_benchmark_ids", "all"): told, ("rows_conserved", "all"): told}


@pytest.mark.parametrize("other", [("dev", "task3_d9", 0), ("dev", "task3_d9", 1), ("test", "task3_d19", 0)])
def test_a_candidate_id_that_stands_twice_in_one_pool_or_in_two_is_told(draft, other):
    pool = draft.row("dev", "task3_d9")[0]["input"]["candidate_memories"]
    twin = draft.row(*other)[0]["input"]["candidate_memories"]
    gold = draft.row(*other)[1]["gold"]["selected_memory_id"]
    place = next(place for place in range(2, 9) if twin[place]["memory_id"] != gold)
    right = draft.row("dev", "task3_d9")[1]["gold"]["selected_memory_id"]
    first = next(one for one in pool[:2] if one["memory_id"] != right)
    twin[place]["memory_id"] = first["memory_id"]
    assert draft.failed() == {("unique_candidate_ids", "all"): (first["memory_id"],)}


EXTRA = [
    ("task1", lambda row: row, "session_id"),
    ("task1", lambda row: row["input"], "canonical_id"),
    ("task1", lambda row: row["input"]["dialogue"][0], "timestamp"),
    ("task2", lambda row: row["input"], "metadata"),
    ("task2", lambda row: row["input"]["memory"][2], "action"),
    ("task2", lambda row: row["input"]["old_dialogue"][0], "is_evidence"),
    ("task2", lambda row: row["input"]["new_dialogue"][0], "segment"),
    ("task3_d9", lambda row: row, "stratum"),
    ("task3_d9", lambda row: row["input"]["candidate_memories"][3], "session_id"),
    ("task4_ability1", lambda row: row["input"], "metadata"),
    ("task4_ability1", lambda row: row["input"]["model_input"], "dialogue_history"),
    ("task4_ability1", lambda row: row["input"]["model_input"]["selected_memory"], "session_id"),
    ("task4_ability2", lambda row: row["input"]["model_input"], "rubric"),
    ("task4_ability2", lambda row: row["input"]["model_input"]["dialogue_history"][1], "memory_id"),
]


@pytest.mark.parametrize(("track", "part", "name"), EXTRA, ids=[f"{track}-{name}" for track, _, name in EXTRA])
def test_a_field_beside_the_envelope_is_told_however_deep(draft, track, part, name):
    row = draft.row("test", track, 4)[0]
    part(row)[name] = "x"
    assert draft.failed() == {("envelope_only", "all"): (row["benchmark_id"],)}


@pytest.mark.parametrize("value", [None, {}, [], ["x"], [{"role": "user", "text": {"deep": "x"}}]])
def test_a_part_of_another_form_is_told(draft, value):
    row = draft.row("test", "task1", 4)[0]
    row["input"]["dialogue"] = value
    told = {} if value == [] else {("envelope_only", "all"): (row["benchmark_id"],)}
    assert draft.failed() == told


@pytest.mark.parametrize(
    ("track", "part", "name"),
    [
        ("task1", lambda row: row, "task"),
        ("task2", lambda row: row["input"], "old_dialogue"),
        ("task3_d9", lambda row: row["input"]["candidate_memories"][3], "label"),
        ("task4_ability1", lambda row: row, "ability"),
        ("task4_ability5", lambda row: row["input"]["model_input"], "dialogue_history"),
    ],
)
def test_a_field_of_the_envelope_that_is_not_there_is_told(draft, track, part, name):
    row = draft.row("dev", track, 3)[0]
    del part(row)[name]
    assert draft.failed() == {("envelope_only", "all"): (row["benchmark_id"],)}


def an_extraction_value(draft):
    row = draft.row("test", "task1", 2)[1]
    return row["benchmark_id"], row["gold"]["memory_items"][1]["value"]


def a_value_behind_a_dialogue(draft):
    row = draft.row("test", "task4_ability3", 2)[1]
    return row["benchmark_id"], row["gold"]["selected_memory"]["value"]


def in_public_gold(draft, value):
    draft.row("dev", "task1")[1]["gold"]["memory_items"][0]["value"] = value


def in_a_shown_state(draft, value):
    draft.row("test", "task2")[0]["input"]["memory"][0]["value"] = value


def in_a_pool(draft, value):
    shown, gold, _ = draft.row("dev", "task3_d19", 1)
    right = gold["gold"]["selected_memory_id"]
    next(one for one in shown["input"]["candidate_memories"] if one["memory_id"] != right)["value"] = value


def in_a_selected_memory(draft, value):
    draft.row("validation", "task4_ability1")[0]["input"]["model_input"]["selected_memory"]["value"] = value


@pytest.mark.parametrize("gold", [an_extraction_value, a_value_behind_a_dialogue])
@pytest.mark.parametrize("place", [in_public_gold, in_a_shown_state, in_a_pool, in_a_selected_memory])
@pytest.mark.parametrize("spelt", [str, lambda value: f"  {value.upper()}".replace(" ", "  ")])
def test_a_held_out_memory_that_a_public_file_shows_is_told(draft, gold, place, spelt):
    told, value = gold(draft)
    place(draft, spelt(value))
    assert draft.failed() == {("gold_hidden", "all"): (told,)}


def test_a_held_out_state_that_another_row_shows_is_told(draft):
    gold = draft.row("test", "task2", 3)[1]
    shown = draft.row("dev", "task2")[0]["input"]["memory"]
    for one, other in zip(shown, gold["gold"]["answer"], strict=False):
        one["value"] = other["value"]
    assert draft.failed() == {}, "one memory is still missing"
    shown.append({**gold["gold"]["answer"][-1], "memory_id": "m-new"})
    assert draft.failed() == {("gold_hidden", "all"): (gold["benchmark_id"],)}


@pytest.mark.parametrize(
    ("track", "field"), [("task3_d9", "selected_memory_id"), ("task4_ability4", "reference_answer")]
)
def test_a_held_out_answer_in_public_gold_is_told(draft, track, field):
    gold = draft.row("test", track, 5)[1]
    draft.row("validation", track, 1)[1]["gold"][field] = gold["gold"][field]
    assert draft.failed() == {("gold_hidden", "all"): (gold["benchmark_id"],)}


def test_what_a_held_out_row_shows_itself_is_no_leak(draft):
    shown, gold, _ = draft.row("test", "task4_ability1", 5)
    assert shown["input"]["model_input"]["selected_memory"] == gold["gold"]["selected_memory"]
    assert draft.failed() == {}


@pytest.mark.parametrize("path", ["public/test/task3/d9/reference_output.jsonl", "public/packets/annotated.jsonl"])
def test_a_public_file_that_belongs_to_no_track_is_told(draft, path):
    file = draft.write() / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(draft.row("test", "task3_d9")[1]))
    assert draft.failed() == {("gold_hidden", "all"): (path.removeprefix("public/"),)}


@pytest.mark.parametrize("what", ["user", "group", "dialogue", "memory"])
def test_what_serves_two_splits_is_told(draft, what):
    behind = draft.row("test", "task4_ability5", 1)[2]
    draft.row("dev", "task2", 1)[2][f"{what}_id"] = behind[f"{what}_id"]
    assert draft.failed() == {(f"one_split_a_{what}", "all"): (behind[f"{what}_id"],)}


def test_rows_without_a_memory_share_none(draft):
    for row in draft.key:
        row["memory_id"] = None if row["kind"] in ("extraction", "update") else row["memory_id"]
    assert draft.failed() == {}


@pytest.mark.parametrize("track", ["task3_d19", "task4_ability1", "task4_ability3"])
@pytest.mark.parametrize("source", ["value", "evidence"])
@pytest.mark.parametrize("language", ["English", None])
def test_a_query_with_the_words_of_its_memory_is_told(draft, track, source, language):
    shown, gold, behind = draft.row("validation", track, 2)
    behind["language"] = language
    words = gold["gold"]["selected_memory"]["value"].split()[-1]
    if source == "evidence":
        words = behind["evidence_text"] = "Mallorca, Lisbon, Oslo"
    asked = shown["input"].get("model_input", shown["input"])
    asked["query"] = f"Which hotel would fit {words}?"
    assert draft.failed() == {("no_lexical_leak", "all"): (shown["benchmark_id"],)}


def remove_input(draft, row):
    draft.inputs["dev", "task3_d9"].remove(row[0])


def remove_reference(draft, row):
    draft.references["dev", "task3_d9"].remove(row[1])


def remove_key(draft, row):
    draft.key.remove(row[2])


def move_reference(draft, row):
    remove_reference(draft, row)
    draft.references["validation", "task3_d9"].append(row[1])


def move_input(draft, row):
    remove_input(draft, row)
    draft.inputs["test", "task3_d9"].append(row[0])


def move_key(draft, row):
    row[2]["track"] = "task3_d19"


@pytest.mark.parametrize("fault", [remove_input, remove_reference, remove_key, move_input, move_reference, move_key])
def test_a_row_that_is_not_in_inputs_references_and_key_alike_is_told(draft, fault):
    row = draft.row("dev", "task3_d9", 1)
    fault(draft, row)
    assert draft.failed() == {("rows_conserved", "all"): (row[0]["benchmark_id"],)}


def test_an_item_that_is_in_no_file_is_told(draft):
    assert draft.failed(draft.item_ids | {"i-lost"}) == {("items_conserved", "all"): ("i-lost",)}


def test_an_item_that_the_warehouse_does_not_have_is_told(draft):
    odd = draft.row("test", "task2")[2]["item_id"]
    assert draft.failed(draft.item_ids - {odd}) == {("items_conserved", "all"): (odd,)}


def test_items_are_not_asked_for_where_there_is_no_warehouse(draft):
    assert "items_conserved" not in {gate.gate for gate in audit(draft.release(), FACTS)}


def test_a_failed_gate_counts_all_its_rows_and_names_ten(draft):
    rows = copy.copy(draft.inputs["test", "task1"])
    for row in rows:
        row["stratum"] = "Preferences/Food"
    gate = next(gate for gate in draft.audit() if gate.gate == "envelope_only")
    assert (gate.figure, gate.bound, gate.of) == (11, 0, 180)
    assert gate.rows == tuple(sorted(row["benchmark_id"] for row in rows)[:10])


def test_a_query_that_an_auditor_found_leaking_is_told_in_all_its_rows(draft):
    shown, _, behind = draft.row("test", "task3_d9", 2)
    other = draft.row("test", "task3_d19", 2)[0]["benchmark_id"]
    facts = replace(FACTS, auditor_leaks=frozenset({behind["item_id"], "i-of-no-row"}))
    [gate] = [gate for gate in audit(draft.release(), facts) if gate.verdict == "failed"]
    assert (gate.gate, gate.rows) == ("no_leak_found_by_auditor", tuple(sorted((shown["benchmark_id"], other))))


def test_an_auditor_that_is_no_model_measures_nothing(draft):
    gates = audit(draft.release(), replace(FACTS, auditor_leaks=None))
    [gate] = [gate for gate in gates if gate.gate == "no_leak_found_by_auditor"]
    assert (gate.verdict, gate.figure) == ("not_measured", None)
    assert gate.detail


@pytest.mark.parametrize(
    ("verified", "asked"),
    [(1.0, set()), (None, set()), (0.25, {"gold_verified_by_people"}), (0.0, {"gold_verified_by_people"})],
)
def test_what_needs_judgement_or_people_is_said_not_to_be_measured(verified, asked):
    gates = list(unmeasured(replace(FACTS, verified_share=verified)))
    always = {"not_guessable_without_memory", "answer_depends_on_memory"}
    assert {gate.gate for gate in gates} == asked | always
    assert {gate.verdict for gate in gates} == {"not_measured"}
    assert all(gate.detail and gate.figure is None for gate in gates)
    if verified == 0.25:
        assert gates[-1].detail == "25% of the gold memories were verified by people"
