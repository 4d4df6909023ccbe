"""What a plan shows, on consoles of any width."""

import io
import re
from datetime import date

import pytest
from rich.console import Console

from flows.planning.estimate import estimate_of
from flows.planning.forecast import Calls
from flows.planning.show_calls import show_calls
from flows.planning.show_plan import show_tables
from flows.planning.usual import History, Spread, Usual
from llm.catalogue import Entry, Price
from llm.offline import Offline
from llm.served import Served

LONG = "a-model-of-some-length-5.2"
PRICE = Price(2.0, 10.0, "a drawn list", date(2026, 1, 1))


def served(price=PRICE):
    return Served(Entry(LONG, "http://127.0.0.1:9/v1", "fable", price=price), None, max_tokens=1000)


def shown(width, show, *what):
    console = Console(file=io.StringIO(), width=width, emoji=False)
    show(console, *what)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


def estimates(*calls):
    history = History({(LONG, "memories"): Usual(100, Spread(40, 50, 60), is_measured_here=True)})
    return [estimate_of(one, history) for one in calls]


MEMORIES = Calls("memories", "validator", served(), known=1_234, new=1_000, prompt_tokens=500_000)
CHECKS = Calls("leak_checks", "auditor", Offline(), known=0, new=87, prompt_tokens=9)
DRAFTS = Calls("query_drafts", "generator", served(price=None), 5, 7, 900, is_forecast=True)


def test_a_wide_console_has_one_line_a_stage_with_all_its_figures():
    lines = shown(160, show_calls, estimates(MEMORIES, CHECKS))

    [line] = [line.split() for line in lines if "memories" in line]
    # 500,000 tokens at 2 dollars a million are 1 dollar; answers of 40, 50 and at the most 1,000 tokens at 10.
    assert line == [
        "validator",
        "memories",
        LONG,
        "1,234",
        "1,000",
        "500k",
        "40k",
        "50k",
        "60k",
        "$1.40",
        "$1.50",
        "$11.00",
    ]
    [line] = [line.split() for line in lines if "leak_checks" in line]
    assert line == ["auditor", "leak_checks", "offline-rules", "87", "free"]


def test_a_narrow_console_has_the_same_figures_in_two_tables():
    wide, narrow = (shown(width, show_calls, estimates(MEMORIES, CHECKS, DRAFTS)) for width in (160, 80))

    def figures(lines):
        return sorted(re.findall(r"[~$]?\d[\d,.]*[kM]?|free|no price known", " ".join(lines).replace(LONG, "")))

    assert len(narrow) > len(wide)
    assert set(figures(narrow)) == set(figures(wide))


def test_a_forecast_is_marked_and_a_model_without_a_price_has_tokens_alone():
    lines = shown(160, show_calls, estimates(DRAFTS))

    [line] = [line for line in lines if "query_drafts" in line]
    assert line.split()[3:6] == ["~5", "~7", "900"]
    assert line.rstrip().endswith("no price known")


def test_a_total_is_that_of_the_paid_calls():
    lines = shown(160, show_calls, estimates(MEMORIES, MEMORIES, CHECKS))

    assert lines[-1].split() == [
        "all",
        "all",
        "paid",
        "2,468",
        "2,000",
        "1M",
        "80k",
        "100k",
        "120k",
        "$2.80",
        "$3.00",
        "$22.00",
    ]


@pytest.mark.parametrize("calls", [[MEMORIES], [CHECKS, CHECKS]])
def test_there_is_no_total_of_one_paid_stage_or_none(calls):
    assert "all paid" not in " ".join(shown(160, show_calls, estimates(*calls)))


def test_free_calls_alone_need_no_column_of_tokens():
    lines = shown(80, show_calls, estimates(CHECKS))

    assert lines[-1].split() == ["auditor", "leak_checks", "offline-rules", "87", "free"]
    assert "tokens" not in " ".join(lines)


@pytest.mark.parametrize("width", [80, 160])
def test_each_table_stands_with_every_reason_and_markup_in_them_is_shown_as_it_is(width):
    why = {"memories": ["its code changed: stages/memories.py", "about: [red]a[/] → b"], "samples": ["never built"]}

    lines = shown(width, show_tables, why, 5)

    text = re.sub(r"\s+", " ", " ".join(lines))
    assert "memories its code changed: stages/memories.py about: [red]a[/] → b samples never built" in text
    assert lines[-1] == "5 tables are there and unchanged"


def test_one_table_is_and_no_table_is_not_mentioned():
    assert shown(80, show_tables, {"a": ["b"]}, 1)[-1] == "1 table is there and unchanged"
    assert "unchanged" not in " ".join(shown(80, show_tables, {"a": ["b"]}, 0))
