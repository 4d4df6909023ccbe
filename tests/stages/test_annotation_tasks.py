import hashlib

from stages import annotation_tasks

SAMPLES = "rank::integer | dialogue_id | user_id\n-\n1 | d2 | ub\n2 | d1 | ua"
MEMORIES = "memory_id | dialogue_id\n-\nm2 | d1\nm1 | d1\nm3 | d2"


def test_a_task_is_a_dialogue_with_its_memories_in_the_order_of_samples(given, settle):
    rows = settle(given(samples=SAMPLES, sample_memories=MEMORIES), annotation_tasks).rows

    assert [(row["rank"], row["dialogue_id"], row["user_id"], row["memory_ids"]) for row in rows] == [
        (1, "d2", "ub", ["m3"]),
        (2, "d1", "ua", ["m1", "m2"]),
    ]
    assert rows[1]["task_id"] == "a" + hashlib.sha256(b"d1|m1|m2").hexdigest()[:16]


def test_a_task_has_another_id_when_its_memories_are_others(given, settle):
    more = MEMORIES + "\nm4 | d1"
    (_, one), (_, other) = (
        settle(given(samples=SAMPLES, sample_memories=drawn), annotation_tasks).column("task_id")
        for drawn in (MEMORIES, more)
    )

    assert one != other
