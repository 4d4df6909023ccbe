import hashlib

from stages import release_rows

SIZES = (100, 300, 500, 700, 1000)
TABLES = {
    "extraction_items": "item_id | target_id | dialogue_id\n-\ni1 | t1 | d1",
    "update_items": "item_id | target_id | dialogue_id | memory_id\n-\ni2 | t2 | d1 | m1",
    "retrieval_items": "item_id | target_id | memory_id\n-\ni3 | t3 | m1",
    "utilization_items": """
        item_id | target_id | dialogue_id | memory_id | ability
        --------|-----------|-------------|-----------|---------------
        i4      | t4        | d1          | m1        | PA
        i5      | t5        | d2          | m2        | PF_general
        i6      | t6        | d2          | m2        | PF_interaction
        i7      | t7        | d2          | m2        | VRA
        i8      | t8        | d2          | m2        | CF
        i9      | t9        | d2          | m2        | EI
    """,
    "targets": "target_id | user_id | split | dialogue_id\n-\n"
    + "\n".join(
        f"t{n} | {'ua' if n < 5 else 'ub'} | {'dev' if n < 5 else 'test'} | d{1 + n // 5}" for n in range(1, 10)
    ),
    "splits": "user_id | group_id\n-\nua | ga\nub | gb",
}


def test_an_item_is_a_row_of_its_track_and_one_of_task_3_of_each_pool_size(given, settle):
    rows = settle(given(**TABLES), release_rows, distractors=SIZES).rows

    assert sorted((row["track"], row["item_id"], row["kind"]) for row in rows) == [
        *(("task1", "i1", "extraction"), ("task2", "i2", "update")),
        *((f"task3_d{size}", "i3", "retrieval") for size in sorted(SIZES, key=str)),
        *(("task4_ability1", "i4", "PA"), ("task4_ability2", "i5", "PF_general")),
        *(("task4_ability2", "i6", "PF_interaction"), ("task4_ability3", "i7", "VRA")),
        *(("task4_ability4", "i8", "CF"), ("task4_ability5", "i9", "EI")),
    ]


def test_a_row_is_named_by_track_and_item_and_knows_what_stands_behind_it(given, settle):
    rows = settle(given(**TABLES), release_rows, distractors=SIZES).rows

    [row] = [row for row in rows if row["track"] == "task3_d300"]
    assert row == {
        "benchmark_id": "task3_d300-" + hashlib.sha256(b"task3_d300|i3").hexdigest()[:12],
        **{"track": "task3_d300", "split": "dev", "item_id": "i3", "target_id": "t3", "kind": "retrieval"},
        **{"dialogue_id": "d1", "memory_id": "m1", "user_id": "ua", "group_id": "ga"},
    }


def test_rows_stand_in_the_order_of_their_opaque_ids_within_track_and_split(given, settle):
    rows = settle(given(**TABLES), release_rows, distractors=SIZES).rows

    places = [(row["track"], row["split"], row["benchmark_id"]) for row in rows]
    assert places == sorted(places)
    assert {row["split"] for row in rows if row["user_id"] == "ub"} == {"test"}
