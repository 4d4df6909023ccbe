from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from stages import duplicate_dialogues, duplicate_memories
from stages.near_duplicates import shingles_of
from warehouse import connect

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
KNOBS = {"shingle_characters": 4, "threshold": 0.8, "permutations": 128}
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="needs the shared data")


def brute_force(names, texts, threshold=0.8):
    """Keep each text that is like no kept one; {member: (nearest kept, similarity)}, by comparing all pairs."""
    sets = [shingles_of(text, 4) for text in texts]
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(one, len(numbers)) for each in sets for one in each]
    sizes = np.array([len(each) for each in sets])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(len(sets), len(numbers)))
    common = (matrix @ matrix.T).tocoo()
    ones, others = common.coords
    similar = common.data / (sizes[ones] + sizes[others] - common.data)
    near: dict[int, list[tuple[float, int]]] = {}
    for one, other, similarity in zip(ones.tolist(), others.tolist(), similar.tolist(), strict=True):
        if one < other and similarity >= threshold:
            near.setdefault(other, []).append((similarity, -one))
    members: dict[int, tuple[float, int]] = {}
    for place in range(len(sets)):
        likes = [like for like in near.get(place, []) if -like[1] not in members]
        if likes:
            members[place] = max(likes)
    return {names[place]: (names[-kept], similarity) for place, (similarity, kept) in members.items()}


def by_member(table):
    return {row["member_id"]: (row["kept_id"], row["jaccard"]) for row in table.to_pylist()}


@needs_data
def test_real_memories_have_the_near_duplicates_that_brute_force_finds():
    db = connect()
    db.execute(
        f"""
        create table memories as
        select 'm' || lpad(row_number() over ()::varchar, 5, '0') as memory_id, 'u' as user_id, label, value,
            'self' as context, 0.95 as confidence, 'exact' as evidence_way
        from read_parquet('{SHARED}/alps/gold_memories.parquet')
        """
    )
    names, texts = zip(*db.execute("select memory_id, value from memories order by memory_id").fetchall(), strict=True)

    found = by_member(duplicate_memories(db, **KNOBS))

    assert found == brute_force(names, texts)
    assert len(found) > 50


@needs_data
def test_real_dialogues_have_the_near_duplicates_that_brute_force_finds():
    db = connect()
    db.execute(
        f"""
        create table dialogues as
        select conversation_hash as dialogue_id, 'u' as user_id, true as user_known, timestamp::timestamptz as ended_at,
            list_transform(conversation, lambda m: struct_pack(role := m.role, "text" := m.content)) as turns
        from read_parquet('{SHARED}/wildchat/alps_1m/*.parquet')
        """
    )
    rows = db.execute("select dialogue_id, ended_at, turns from dialogues order by ended_at, dialogue_id").fetchall()
    said = [" ".join(turn["text"] for turn in turns if turn["role"] == "user") for _, _, turns in rows]

    found = by_member(duplicate_dialogues(db, **KNOBS))

    assert found == brute_force([row[0] for row in rows], said)
    assert len(found) > 30
