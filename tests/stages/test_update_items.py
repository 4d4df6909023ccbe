import hashlib

import pytest

from llm.gateway import Reply
from stages import update_items

TARGETS = """
target_id | kind      | user_id | split | dialogue_id | memory_id
----------|-----------|---------|-------|-------------|----------
t1        | update    | ua      | dev   | d1          | m2
t2        | update    | ub      | test  | d2          | m4
t3        | retrieval | ub      | test  | d2          | m4
"""
GOLD = """
memory_id | dialogue_id | language | type     | label                         | value         | confidence::double | evidence_text
-
m1        | d1          | English  | direct   | Possessions/Pet               | User has cats | 0.95               | my cats
m2        | d1          | English  | direct   | Personal_Background/Location  | User in Rome  | 0.80               | in Rome
m3        | d1          | English  | indirect | Possessions/Car               | User drives   | 0.65               | my drive
m4        | d2          |          | direct   | Possessions/Pet               | User has fish | 0.95               | my fish
"""  # noqa: E501 # a drawn table


def talk(*texts):
    return [{"role": ("user", "assistant")[i % 2], "text": text} for i, text in enumerate(texts)]


def segments(mark, **changes):
    """Three pieces of dialogue, told apart by `mark`."""
    fact = {"type": "direct", "confidence": 0.95}
    return {
        "noise": talk("n0", "n1", "n2", "n3"),
        "update": {
            "dialogue": talk("I sing at night", "nice"),
            "memory": {**fact, "label": "Preferences/Music", "value": f"Sings {mark}", "evidence_text": "I sing"},
        },
        "conflict": {
            "dialogue": talk("I moved to Oslo", "far"),
            "memory": {**fact, "label": "Plans/Schedule", "value": f"In Oslo {mark}", "evidence_text": "to Oslo"},
        },
        **changes,
    }


def changed(piece, **fields):
    made = segments("x")[piece]
    return {piece: {**made, "memory": {**made["memory"], **fields}}}


@pytest.fixture
def generated(given, settle, model_says):
    """Give the items where the generator answers so, and the inputs that it was shown."""

    def make(answer, targets=TARGETS, gold=GOLD):
        model = model_says(answer, "a-generator")
        settled = settle(given(targets=targets, gold_memories=gold), update_items, generator=model, noise_turns=4)
        return settled, model.provider.requests

    return make


@pytest.fixture
def item(generated):
    """The item about m2, one of three memories of its dialogue."""
    settled, _ = generated(lambda shown: segments(shown["memory"]["value"]))
    return next(row for row in settled.rows if row["target_id"] == "t1")


def test_the_state_before_is_all_gold_of_the_dialogue_under_ids_of_its_own(item):
    assert item["item_id"] == "i" + hashlib.sha256(b"task2|t1").hexdigest()[:16]
    assert {one["value"] for one in item["memory"]} == {"User has cats", "User in Rome", "User drives"}
    ids = {one["memory_id"] for one in item["memory"]}
    assert len(ids) == 3
    assert not ids & {"m1", "m2", "m3"}
    assert {one["evidence_text"] for one in item["memory"]} == {"my cats", "in Rome", "my drive"}


def test_the_state_after_keeps_all_but_one_changes_that_and_adds_one(item):
    before = {one["memory_id"]: one for one in item["memory"]}
    after = {one["memory_id"]: one for one in item["answer"]}
    target = next(one for one in before.values() if one["value"] == "User in Rome")["memory_id"]

    assert {one: before[one] for one in before if one != target} == {one: after[one] for one in after if one in before}
    assert after[f"{target}_updated"]["value"] == "In Oslo User in Rome"
    assert after[f"{target}_updated"]["label"] == "Personal_Background/Location"
    [added] = set(after) - set(before) - {f"{target}_updated"}
    assert (after[added]["value"], after[added]["label"]) == ("Sings User in Rome", "Preferences/Music")
    assert {one["memory_id"]: one["action"] for one in item["actions"]} == {
        **{one: "Retention" for one in before if one != target},
        **{f"{target}_updated": "Modification", added: "Addition"},
    }


def test_no_order_of_ids_or_actions_tells_which_memory_changes(generated):
    targets = [f"t{n} | update | u{n} | dev | d{n} | m{n}a" for n in range(60)]
    gold = [f"m{n}{letter} | d{n} | English | direct | Possessions/Pet | Owns {letter}{n} | 0.95 | yes"
            for n in range(60) for letter in "abc"]  # fmt: skip
    settled, _ = generated(
        lambda shown: segments(shown["memory"]["value"]),
        "\n".join([*TARGETS.strip().splitlines()[:2], *targets]),
        "\n".join([*GOLD.strip().splitlines()[:2], *gold]),
    )

    places = [[one["value"][5] for one in row["memory"]].index("a") for row in settled.rows]
    assert all(8 <= places.count(place) <= 32 for place in range(3))
    assert all(row["actions"] == sorted(row["actions"], key=lambda one: one["memory_id"]) for row in settled.rows)


def test_the_new_dialogue_is_noise_and_two_pieces_in_either_order(generated):
    targets = [f"t{n} | update | u{n} | dev | d{n} | m{n}" for n in range(20)]
    gold = [f"m{n} | d{n} | English | direct | Possessions/Pet | Owns {n} | 0.95 | yes" for n in range(20)]
    settled, _ = generated(
        lambda shown: segments(shown["memory"]["value"]),
        "\n".join([*TARGETS.strip().splitlines()[:2], *targets]),
        "\n".join([*GOLD.strip().splitlines()[:2], *gold]),
    )

    said = {tuple(one["text"] for one in row["new_dialogue"]) for row in settled.rows}
    sings, moves = ("I sing at night", "nice"), ("I moved to Oslo", "far")
    assert said == {("n0", "n1", *first, "n2", "n3", *second) for first, second in ((sings, moves), (moves, sings))}


def test_the_generator_sees_the_target_the_other_values_and_what_to_write(generated):
    _, asked = generated({})

    assert [request.subject for request in asked] == ["m2", "m4"]
    shown = asked[0].input
    assert (shown["memory"]["value"], sorted(shown["existing"])) == ("User in Rome", ["User drives", "User has cats"])
    assert (shown["language"], shown["noise_turns"], asked[1].input["language"]) == ("English", 4, "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"noise": talk("n0", "n1", "n2")}, "wrong_number_of_noise_turns"),
        ({"noise": []}, "wrong_number_of_noise_turns"),
        (changed("update", evidence_text="I dance"), "evidence_not_in_new_dialogue"),
        (changed("update", evidence_text="nice"), "evidence_not_in_new_dialogue"),
        (changed("update", evidence_text="to Oslo"), "evidence_not_in_new_dialogue"),
        (changed("conflict", evidence_text=""), "evidence_not_in_new_dialogue"),
        (changed("conflict", evidence_text=" "), "evidence_not_in_new_dialogue"),
        (changed("conflict", value="\n"), "empty_value"),
        (changed("conflict", type="both"), "unknown_type"),
        ({"noise": [{"role": "system", "text": "n"}] * 4}, "schema_error"),
        ({"update": None}, "schema_error"),
        (changed("update", confidence="high"), "schema_error"),
    ],
)
def test_pieces_that_are_not_as_asked_for_drop_the_item(generated, changes, reason):
    settled, _ = generated(
        lambda shown: segments("x", **(changes if shown["memory"]["value"] == "User in Rome" else {}))
    )

    assert settled.reasons == {"t1": reason}
    assert settled.column("target_id") == ["t2"]


@pytest.mark.parametrize("status", ["truncated", "filtered", "refused", "not_recorded"])
def test_a_call_that_failed_is_a_drop_with_its_status(generated, status):
    settled, _ = generated(lambda shown: Reply(status) if shown["existing"] else segments("x"))

    assert settled.reasons == {"t1": status}


def test_an_indirect_memory_is_never_as_sure_as_95_and_labels_are_normal(generated):
    settled, _ = generated(
        lambda shown: segments(
            shown["memory"]["value"], **changed("update", type="implied", confidence=0.95, label="Kites")
        )
    )

    for row in settled.rows:
        added = row["answer"][-1]
        assert (added["type"], added["confidence"], added["label"]) == ("indirect", 0.80, "UNMAPPED")


def test_an_item_that_ends_in_the_state_of_another_is_dropped(generated):
    gold = "\n".join(
        [
            *GOLD.strip().splitlines()[:2],
            *GOLD.strip().splitlines()[-1:],
            "m2 | d1 | English | direct | Possessions/Pet | a cat | 0.95 | x",
        ]
    )

    settled, _ = generated(segments("the same"), gold=gold)

    assert len(settled.rows) == 1
    assert list(settled.reasons.values()) == ["state_of_another_item"]
