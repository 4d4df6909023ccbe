"""What the views of calls show, over attempts that are drawn here and added up by hand."""

import duckdb
import pytest

from llm.attempts import Usage
from llm.ledger import Ending, Intent, Ledger
from warehouse import connect, publish

COLUMNS = "attempts, ok, failed, failures, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens"
COSTS = "usd, held_usd, tokens_per_ok"


def usage(prompt=None, cached=None, completion=None, reasoning=None):
    return Usage(prompt, cached, completion, reasoning)


# model, stage, status, usage, billionths of a dollar spent and held, seconds
ATTEMPTS = [
    ("fable", "memories", "ok", usage(100, 40, 10, 4), 2_000_000, 0, 3.0),
    ("fable", "memories", "ok", usage(200, 0, 30, 20), 5_000_000, 0, 1.0),
    ("fable", "memories", "schema_error", usage(300, 0, 50, 0), 1_500_000, 0, 2.0),
    ("fable", "memories", "timeout", usage(), None, 9_000_000, 60.0),
    ("fable", "memories", "timeout", usage(), None, 9_000_000, 61.0),
    ("story", "leak_checks", "rate_limited", usage(), None, 0, 0.1),
    ("story", "leak_checks", "pending", usage(), None, 7_000_000, None),
    ("rules", "query_drafts", "ok", usage(), None, 0, 0.0),
    ("rules", "query_drafts", "ok", usage(), None, 0, 0.0),
]
MEMORIES = (5, 2, 3, "2 timeout, 1 schema_error", 600, 40, 90, 24, 0.0085, 0.018, 345.0)
LEAK_CHECKS = (2, 0, 1, "1 rate_limited", 0, 0, 0, 0, 0.0, 0.007, None)
QUERY_DRAFTS = (2, 2, 0, "", 0, 0, 0, 0, 0.0, 0.0, 0.0)


def ledger_of(attempts):
    ledger = Ledger()
    for number, (model, stage, status, used, spent, held, seconds) in enumerate(attempts):
        call = ledger.begin(Intent(f"key {number}", model, stage, f"subject {number}", most_nano_usd=held))
        if status != "pending":
            ledger.end(call, Ending(status, usage=used, nano_usd=spent, held_nano_usd=held, seconds=seconds))
    return ledger


@pytest.fixture
def ask(home):
    """Publish attempts, and ask the published file."""
    with connect(home.warehouse) as db:
        db.execute("""
            insert into builds (name, position, reads) values
                ('query_drafts', 8, []), ('leak_checks', 9, []), ('memories', 3, [])
        """)

    def ask(sql, attempts=ATTEMPTS):
        publish(home, ledger_of(attempts).rows())
        with duckdb.connect(home.published, read_only=True) as db:
            return db.execute(sql).fetchall()

    return ask


def test_the_cost_of_each_stage_stands_in_the_order_of_building(ask):
    assert ask(f"select stage, {COLUMNS}, {COSTS} from cost_by_stage") == [
        ("memories", *MEMORIES),
        ("query_drafts", *QUERY_DRAFTS),
        ("leak_checks", *LEAK_CHECKS),
    ]


def test_the_cost_of_each_model_stands_with_the_dearest_first(ask):
    assert ask(f"select model, {COLUMNS}, {COSTS} from cost_by_model") == [
        ("fable", *MEMORIES),
        ("rules", *QUERY_DRAFTS),
        ("story", *LEAK_CHECKS),
    ]


def test_a_stage_that_two_models_played_is_one_row_and_they_are_two(ask):
    attempts = [(model, "memories", "ok", usage(10, 0, 5), 1_000, 0, 1.0) for model in ("fable", "story")]

    assert ask("select stage, attempts, prompt_tokens from cost_by_stage", attempts) == [("memories", 2, 20)]
    assert ask("select model, attempts, prompt_tokens from cost_by_model order by model", attempts) == [
        ("fable", 1, 10),
        ("story", 1, 10),
    ]


def test_calls_of_no_table_are_in_the_costs_too(ask):
    attempts = [("fable", "chat", "ok", usage(10, 0, 5), 1_000, 0, 1.0)]

    assert ask("select stage, attempts from cost_by_stage", attempts) == [("chat", 1)]


def test_the_slowest_calls_come_slowest_first_and_those_under_way_not_at_all(ask):
    assert ask("select call, model, stage, subject, status, seconds from slowest_calls limit 3") == [
        (5, "fable", "memories", "subject 4", "timeout", 61.0),
        (4, "fable", "memories", "subject 3", "timeout", 60.0),
        (1, "fable", "memories", "subject 0", "ok", 3.0),
    ]
    assert ask("select count(*) from slowest_calls") == [(8,)]


def test_a_hundred_slow_calls_are_enough(ask):
    attempts = [("fable", "memories", "ok", usage(), None, 0, float(seconds)) for seconds in range(130)]

    assert ask("select count(*), min(seconds), max(seconds) from slowest_calls", attempts) == [(100, 30.0, 129.0)]


def test_without_calls_the_views_are_empty(ask):
    for view in ("cost_by_stage", "cost_by_model", "slowest_calls"):
        assert ask(f"from {view}", []) == []
