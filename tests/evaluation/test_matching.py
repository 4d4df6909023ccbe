import json
import re
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.matching import (
    Memory,
    confidence_score,
    label_similarity,
    match,
    pair_score,
    value_similarity,
)

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "alps"
LABELS = ("Preferences/Food", "Preferences/Music", "Thoughts/Goals/Long_Term", "UNMAPPED")
MEMORIES = st.builds(
    Memory,
    st.sampled_from(("direct", "indirect")),
    st.sampled_from(LABELS),
    st.text("abc ", max_size=12),
    st.sampled_from((0.95, 0.80, 0.65, 0.50)),
)


def memory(value="Works as a nurse", label="Personal_Background/Occupation", type="direct", confidence=0.95):
    return Memory(type, label, value, confidence)


def test_the_same_memories_score_one_hundred_in_any_order():
    gold = [memory(), memory("Has a dog", "Possessions/Pet")]
    found = match(gold[::-1], gold)
    assert (found.precision, found.recall, found.f1, found.quality) == (1, 1, 1, 1)
    assert found.score == pytest.approx(100)
    assert {(pair.predicted, pair.gold) for pair in found.pairs} == {(0, 1), (1, 0)}


def test_a_label_counts_its_common_leading_segments():
    assert label_similarity("Thoughts/Goals/Long_Term", "thoughts/goals/short_term") == pytest.approx(4 / 6)
    assert label_similarity("Goals/Long_Term", "Thoughts/Goals/Long_Term") == 0
    assert label_similarity("UNMAPPED", "unmapped") == 1


def test_punctuation_and_case_do_not_count_in_values():
    assert value_similarity("Works,  as a NURSE!", "works as a nurse") == 1


def test_value_similarity_weighs_tokens_and_sequence():
    # Tokens {likes, tea} and {likes, coffee}: 1 of 3. Sequence: "likes " and "e" match, 7 of 9 and 12.
    assert value_similarity("likes tea", "likes coffee") == pytest.approx(0.6 / 3 + 0.4 * 2 * 7 / 21)


@pytest.mark.parametrize(("difference", "score"), [(0.0, 1.0), (0.2, 1.0), (0.6, 0.5), (0.85, 0.1875), (1.0, 0.0)])
def test_confidence_falls_linearly_beyond_its_slack(difference, score):
    assert confidence_score(1.0 - difference, 1.0) == pytest.approx(score)


def test_a_pair_is_worth_four_parts_label_four_value_one_type_one_confidence():
    other = memory(type="indirect")
    assert pair_score(memory(), other) == pytest.approx(0.90)
    assert pair_score(memory(label="Possessions/Pet"), other) == pytest.approx(0.50)


def test_pairs_below_the_threshold_are_refused():
    found = match([memory("xyz", "Possessions/Pet", "indirect", 0.5)], [memory()])
    assert (found.pairs, found.f1, found.score) == ((), 0, 0)


def test_nothing_predicted_where_there_is_nothing_is_right():
    assert match([], []).score == 100


def test_one_empty_side_scores_nothing():
    assert match([], [memory()]).score == 0
    assert match([memory()], []).score == 0


def test_a_missed_memory_costs_recall_and_half_of_f1():
    found = match([memory()], [memory(), memory("Has a dog", "Possessions/Pet")])
    assert (found.precision, found.recall) == (1, 0.5)
    assert found.f1 == pytest.approx(2 / 3)
    assert found.score == pytest.approx(100 * (0.6 + 0.4 * 2 / 3))


@settings(deadline=None)
@given(st.lists(MEMORIES, min_size=1, max_size=4), st.lists(MEMORIES, min_size=1, max_size=4))
def test_the_assignment_has_the_greatest_sum_of_pair_scores(predicted, gold):
    scores = [[pair_score(p, g) for g in gold] for p in predicted]
    if len(predicted) > len(gold):
        scores = [list(column) for column in zip(*scores, strict=True)]
    columns = range(len(scores[0]))
    best = max(
        sum(row[c] for row, c in zip(scores, chosen, strict=True)) for chosen in permutations(columns, len(scores))
    )
    kept = sum(pair.score for pair in match(predicted, gold).pairs)
    assert best - 0.30 * len(scores) <= kept <= best + 1e-9


@settings(deadline=None)
@given(st.lists(MEMORIES, max_size=4), st.lists(MEMORIES, max_size=4))
def test_scores_stay_in_range_and_nothing_is_matched_twice(predicted, gold):
    found = match(predicted, gold)
    assert 0 <= found.score <= 100 + 1e-9
    assert len({pair.predicted for pair in found.pairs}) == len(found.pairs)
    assert len({pair.gold for pair in found.pairs}) == len(found.pairs)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recorded answers in ../shared/data/alps")
@pytest.mark.parametrize(("model", "average"), [("deepseek-reasoner", 47.23), ("gemini-3-flash", 51.47)])
def test_recorded_answers_get_their_published_average(model, average):
    gold = defaultdict(list)
    for subject, *fields in duckdb.execute(
        f"""select conversation_hash, type, label, value, confidence from '{SHARED}/gold_memories.parquet'
            join '{SHARED}/dialogues.parquet' using (session_id)"""
    ).fetchall():
        gold[subject].append(Memory(*fields))
    answers = duckdb.execute(
        f"select subject, answer from '{SHARED}/recordings.parquet' where model = ?", [model]
    ).fetchall()
    total = sum(match(recorded_memories(answer), gold[subject]).score for subject, answer in answers)
    assert total / len(gold) == pytest.approx(average, abs=0.3)


def recorded_memories(answer):
    items = json.loads(re.sub(r"^\s*```(?:json)?|```\s*$", "", answer))["memory_items"]
    return [memory(item["value"], item["label"], item["type"], float(item["confidence"])) for item in items]
