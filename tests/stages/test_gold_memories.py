from stages import gold_memories

MEMORIES = """
memory_id | dialogue_id | user_id | language | type   | label           | label_suggestion | value  | confidence::double | evidence_text | evidence_message::integer | evidence_start::integer | evidence_end::integer | emotion | time_scope | preference_attitude | extractor
-
m1        | d1          | ua      | English  | direct | Possessions/Pet |                  | a cat  | 0.95               | cat           | 2                         | 0                       | 3                     |         | unknown    |                     | ex
m2        | d1          | ua      | English  | direct | Possessions/Pet |                  | a dog  | 0.95               | dog           | 0                         | 9                       | 12                    | joy     | unknown    |                     | ex
m3        | d1          | ua      | English  | direct | Possessions/Car |                  | a car  | 0.80               | car           | 0                         | 4                       | 7                     |         | past       |                     | ex
m4        | d0          | ub      | Chinese  | direct | UNMAPPED        | A/B/C            | 一只猫 | 0.50               | 猫            | 0                         | 0                       | 1                     |         | recent     | like                | ex
m5        | d1          | ua      | English  | direct | Possessions/Car |                  | a bus  | 0.80               | bus           | 0                         | 0                       | 3                     |         | past       |                     | ex
"""  # noqa: E501 # a drawn table
ANNOTATIONS = """
memory_id | verdict | verified::boolean
----------|---------|------------------
m1        | kept    | true
m2        | passed  | false
m3        | removed | true
m4        | changed | true
"""


def test_gold_is_what_nobody_removed_in_the_order_of_its_evidence(given, settle):
    settled = settle(given(memories=MEMORIES, annotations=ANNOTATIONS), gold_memories)

    assert [(row["memory_id"], row["verified"]) for row in settled.rows] == [("m4", True), ("m2", False), ("m1", True)]
    assert settled.reasons == {"m3": "removed_by_annotator"}


def test_a_gold_memory_is_the_memory_that_was_reviewed(given, settle):
    row = settle(given(memories=MEMORIES, annotations=ANNOTATIONS), gold_memories).rows[0]

    assert (row["value"], row["label"], row["label_suggestion"], row["confidence"]) == (
        "一只猫",
        "UNMAPPED",
        "A/B/C",
        0.5,
    )
    assert (row["evidence_text"], row["time_scope"], row["preference_attitude"]) == ("猫", "recent", "like")
