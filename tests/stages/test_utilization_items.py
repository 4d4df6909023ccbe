import hashlib

from stages import utilization_items

TARGETS = """
target_id | kind      | user_id | split | dialogue_id | memory_id
----------|-----------|---------|-------|-------------|----------
t1        | PA        | ua      | dev   | d1          | m1
t2        | CF        | ub      | test  | d2          | m2
t3        | VRA       | ub      | test  | d2          | m3
t4        | EI        | ub      | test  | d2          | m3
t5        | retrieval | ua      | dev   | d1          | m1
"""
DRAFTS = """
target_id | attempt::integer | query    | reference_answer | rubric   | leaks::boolean | shared_words::varchar[]
-
t1        | 0                | leaky    | answer 0         | rubric 0 | true           | [cat]
t1        | 1                | good     | answer 1         | rubric 1 | false          | []
t2        | 0                | fine     | answer 2         | rubric 2 | false          | []
t3        | 0                | leaky    | answer 3         | rubric 3 | true           | [dog, cat]
t5        | 0                | question | answer 5         | rubric 5 | false          | []
"""


def test_an_item_has_the_last_draft_whole(given, settle):
    rows = settle(given(targets=TARGETS, query_drafts=DRAFTS), utilization_items).rows

    by_target = {row.pop("target_id"): row for row in rows}
    assert by_target == {
        "t1": {
            **{"item_id": "i" + hashlib.sha256(b"task4|t1").hexdigest()[:16], "user_id": "ua", "split": "dev"},
            **{"ability": "PA", "dialogue_id": "d1", "memory_id": "m1"},
            **{"query": "good", "reference_answer": "answer 1", "rubric": "rubric 1"},
        },
        "t2": {
            **{"item_id": "i" + hashlib.sha256(b"task4|t2").hexdigest()[:16], "user_id": "ub", "split": "test"},
            **{"ability": "CF", "dialogue_id": "d2", "memory_id": "m2"},
            **{"query": "fine", "reference_answer": "answer 2", "rubric": "rubric 2"},
        },
    }


def test_a_target_without_a_query_that_keeps_the_memory_to_itself_is_dropped(given, settle):
    settled = settle(given(targets=TARGETS, query_drafts=DRAFTS), utilization_items)

    assert settled.reasons == {"t3": "every_query_leaks", "t4": "no_query"}
    assert {one["target_id"]: one["drop_detail"] for one in settled.drops} == {"t3": "dog cat", "t4": None}
