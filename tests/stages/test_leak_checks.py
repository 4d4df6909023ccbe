import pytest

from evaluation.leaks import Limits
from llm.gateway import Reply
from stages import leak_checks

TABLES = {
    "retrieval_items": "item_id | query | memory_id\n-\ni1 | What do grey parrots eat? | m1",
    "utilization_items": "item_id | query | memory_id\n-\ni2 | What shall I buy? | m1\ni3 | What shall I sing? | m2",
    "memories": """
        memory_id | label            | value                    | evidence_text | language
        ----------|------------------|--------------------------|---------------|---------
        m1        | Possessions/Pet  | User breeds grey parrots | my parrots    | English
        m2        | Preferences/Food | User eats figs           | figs          |
    """,
}


@pytest.fixture
def checked(given, settle, model_says):
    def make(answer):
        model = model_says(answer, "an-auditor")
        settled = settle(given(**TABLES), leak_checks, auditor=model, limits=Limits(1, 0.5))
        return settled.rows, [request.input for request in model.provider.requests]

    return make


def verdicts(rows, check):
    return {row["item_id"]: (row["verdict"], row["evidence"]) for row in rows if row["check"] == check}


def test_each_item_is_checked_by_its_words_and_by_the_auditor(checked):
    rows, asked = checked({"leaks": False, "quote": None, "reason": "no"})

    assert [(row["item_id"], row["check"]) for row in rows] == [
        (item, check) for item in ("i1", "i2", "i3") for check in ("lexical", "auditor")
    ]
    assert verdicts(rows, "lexical") == {"i1": ("leaks", "grey parrot"), "i2": ("passed", None), "i3": ("passed", None)}
    assert set(verdicts(rows, "auditor").values()) == {("passed", None)}
    assert {row["checked_by"] for row in rows} == {"shared words", "an-auditor"}
    assert [(one["query"], one["memory"]["value"]) for one in asked][0] == (
        *("What do grey parrots eat?", "User breeds grey parrots"),
    )


@pytest.mark.parametrize(
    ("answer", "verdict", "evidence"),
    [
        ({"leaks": True, "quote": "What", "reason": "it asks"}, "leaks", "What"),
        (
            {"leaks": True, "quote": "parakeets", "reason": ""},
            "not_measured",
            "the quotation does not stand in the query",
        ),
        ({"leaks": True, "quote": None, "reason": ""}, "not_measured", "the quotation does not stand in the query"),
        ({"leaks": True, "quote": " ", "reason": ""}, "not_measured", "the quotation does not stand in the query"),
        ({"leaks": True, "reason": ""}, "not_measured", "schema_error"),
        ("", "not_measured", "empty"),
        *((Reply(status), "not_measured", status) for status in ("filtered", "refused", "not_recorded")),
    ],
)
def test_the_auditors_verdict_counts_only_where_it_quotes_the_query(checked, answer, verdict, evidence):
    rows, _ = checked(answer)

    assert set(verdicts(rows, "auditor").values()) == {(verdict, evidence)}
