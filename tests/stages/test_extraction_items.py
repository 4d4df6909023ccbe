import hashlib

from stages import extraction_items

TARGETS = """
target_id | kind       | user_id | split | dialogue_id
----------|------------|---------|-------|------------
t1        | extraction | ua      | dev   | d1
t2        | extraction | ub      | test  | d2
t3        | retrieval  | ua      | dev   | d1
"""
DIALOGUES = """
dialogue_id | turns::struct(role varchar, text varchar)[]
-
d1          | [{'role': user, 'text': I have a cat and a car}]
d2          | [{'role': user, 'text': hi}]
"""
GOLD = """
memory_id | dialogue_id | type     | label           | value | confidence::double | evidence_text | evidence_message::integer | evidence_start::integer
-
m1        | d1          | direct   | Possessions/Car | a car | 0.95               | a car         | 0                         | 17
m2        | d1          | indirect | Possessions/Pet | a cat | 0.80               | a cat         | 0                         | 7
"""  # noqa: E501 # a drawn table


def test_an_item_is_a_dialogue_and_its_gold_in_the_order_of_the_evidence(given, settle):
    [row] = settle(given(targets=TARGETS, dialogues=DIALOGUES, gold_memories=GOLD), extraction_items).rows

    assert row["item_id"] == "i" + hashlib.sha256(b"task1|t1").hexdigest()[:16]
    assert (row["target_id"], row["user_id"], row["split"], row["dialogue_id"]) == ("t1", "ua", "dev", "d1")
    assert row["dialogue"] == [{"role": "user", "text": "I have a cat and a car"}]
    cat = {"memory_id": "m2", "type": "indirect", "label": "Possessions/Pet", "value": "a cat", "confidence": 0.8}
    car = {"memory_id": "m1", "type": "direct", "label": "Possessions/Car", "value": "a car", "confidence": 0.95}
    assert row["gold"] == [{**cat, "evidence_text": "a cat"}, {**car, "evidence_text": "a car"}]


def test_a_dialogue_of_which_people_left_no_memory_is_dropped(given, settle):
    settled = settle(given(targets=TARGETS, dialogues=DIALOGUES, gold_memories=GOLD), extraction_items)

    assert settled.reasons == {"t2": "no_gold_memory"}
