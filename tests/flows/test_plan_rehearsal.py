"""Stages that are built, changed and rehearsed: what can be told of a build without asking a model."""

import json
import sys
from contextlib import suppress

import pytest

from flows.build import Built, Planner, Reached
from flows.planning.forecast import new_shares
from flows.planning.rehearsal import Rehearsal, copy_of, wanted_of
from llm.catalogue import Entry
from llm.gateway import Model
from llm.keys import keys_of
from llm.ledger import Ending, Intent, Ledger
from llm.offline import Offline
from llm.questions import Request
from llm.served import Served
from warehouse import connect

PEOPLE = """
SQL = "select i::integer as number from range($count) t(i)"

def samples(db, *, count):
    return db.sql(SQL, params={"count": count})
"""
ASKED = """
import pyarrow as pa
from pydantic import BaseModel

from llm.gateway import Prompt, Request

PROMPT = Prompt("NAME", "Say it again.")


class Count(BaseModel):
    number: int


def NAME(db, *, ROLE):
    numbers = [number for (number,) in db.execute("select number from READ order by all").fetchall()]
    requests = [Request(str(number), {"number": number}) for number in numbers]
    rows = [
        {"number": outcome.answer.number if outcome.answer else number, "drop_reason": None if outcome.answer else "x"}
        for number, outcome in zip(numbers, ROLE.ask(PROMPT, requests, Count))
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([("number", pa.int32()), ("drop_reason", pa.string())]))
"""
CHOSEN = """
def NAME(db):
    return db.sql("select number from READ")
"""


@pytest.fixture
def stages(stage_of):
    """Four stages in a row: samples, candidate_memories (asks), memories, leak_checks (asks)."""

    def make(name, code, read="", role=""):
        return stage_of(name, code.replace("NAME", name).replace("READ", read).replace("ROLE", role))

    return [
        make("samples", PEOPLE),
        make("candidate_memories", ASKED, "samples", "extractor"),
        make("memories", CHOSEN, "candidate_memories"),
        make("leak_checks", ASKED, "memories", "auditor"),
    ]


@pytest.fixture
def ledger():
    return Ledger()


@pytest.fixture
def served(ledger):
    return Model(Served(Entry("fable", "http://127.0.0.1:9/v1", "fable"), None), ledger)


@pytest.fixture
def know(stages, ledger, served):
    """Let the ledger know a stage's answers to numbers."""

    def know(stage, numbers):
        module = sys.modules[stage.__module__]
        for number in numbers:
            key = keys_of(served.provider, module.PROMPT, module.Count)(Request("", {"number": number}))
            call = ledger.begin(Intent(key, "fable", stage.__name__, ""))
            ledger.end(call, Ending("ok", answer=json.dumps({"number": number})))

    return know


@pytest.fixture
def flow(stages):
    """Go through the stages: `flow(build, count, extractor, auditor)`."""

    def flow(build, count, extractor, auditor):
        samples, candidates, memories, checks = stages
        found = build(memories, build(candidates, build(samples, count=count), extractor=extractor))
        build(checks, found, auditor=auditor)

    return flow


@pytest.fixture
def rehearse(tmp_path, flow):
    """Have tables built as `was`, and rehearse a build as `now`, which differs in some of the same."""
    place = tmp_path / "warehouse.duckdb"

    def rehearse(was, now, tables, again=None, until=None, **seconds):
        planner = Planner({})
        flow(planner, **was)
        built = {
            step.table.name: Built(step.table.fingerprint, step.position, seconds.get(step.table.name, 1.0), 3)
            for step in planner.steps
            if step.table.name in tables
        }
        with connect(place) as db:
            for name, numbers in tables.items():
                db.execute(f"create table {name} as select unnest($numbers)::integer as number", {"numbers": numbers})
        planner = Planner(built, until=until, again=again)
        with suppress(Reached):
            flow(planner, **now)
        with copy_of(place, planner.steps) as db:
            rehearsal = Rehearsal(db, planner.steps, built, until)
            with suppress(Reached):
                flow(rehearsal, **now)
            return Seen(planner.steps, rehearsal, built)

    return rehearse


class Seen:
    """What a rehearsal came to."""

    def __init__(self, steps, rehearsal, built):
        self.counts = {name: (one.known, one.new) for name, one in rehearsal.counted.items()}
        self.made = rehearsal.here - {step.table.name for step in steps if step.is_built}
        self.shares = new_shares(steps, rehearsal)
        self.rows = {
            name: rehearsal.db.execute(f"select number from {name} order by 1").fetchall() for name in self.made
        }


ALL = {"samples": [0, 1, 2], "candidate_memories": [0, 1, 2], "memories": [0, 1, 2], "leak_checks": [0, 1, 2]}


def test_where_all_is_built_nothing_is_tried(rehearse, served):
    knobs = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(knobs, knobs, ALL)

    assert (seen.counts, seen.made) == ({}, set())
    assert set(seen.shares.values()) == {0.0}


def test_calls_of_a_stage_whose_tables_are_there_are_counted(rehearse, know, stages, served):
    know(stages[1], [0, 1])
    knobs = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(knobs, knobs, {"samples": [0, 1, 2]})

    assert seen.counts == {"candidate_memories": (2, 1)}
    assert seen.made == set()


def test_where_all_answers_are_known_the_stages_after_it_are_counted_too(rehearse, know, stages, served):
    know(stages[1], [0, 1, 2])
    know(stages[3], [0, 1])
    knobs = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(knobs, knobs, ALL, again="candidate_memories")

    assert seen.counts == {"candidate_memories": (3, 0), "leak_checks": (2, 1)}
    assert seen.made == {"candidate_memories", "memories"}
    assert seen.rows["memories"] == [(0,), (1,), (2,)]


def test_another_knob_is_gone_through_in_memory(rehearse, know, stages, served):
    know(stages[1], [0, 1, 2, 3])
    know(stages[3], [0, 1, 2])
    was = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(was, was | {"count": 5}, ALL)

    assert seen.counts == {"candidate_memories": (4, 1)}
    assert seen.rows == {"samples": [(0,), (1,), (2,), (3,), (4,)]}
    assert seen.shares == {"samples": 0.0, "candidate_memories": 0.2, "memories": 0.2, "leak_checks": 0.2}


def test_a_stage_that_was_slow_is_not_tried_and_all_after_it_may_be_new(rehearse, know, stages, served):
    know(stages[1], [0, 1, 2])
    was = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(was, was | {"count": 2}, ALL, samples=600.0)

    assert (seen.counts, seen.made) == ({}, set())
    assert set(seen.shares.values()) == {1.0}


def test_a_stage_that_was_never_built_is_tried_only_if_it_asks(rehearse, know, stages, served):
    know(stages[1], [0, 1, 2])
    knobs = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(knobs, knobs, {"samples": [0, 1, 2]})

    assert seen.counts == {"candidate_memories": (3, 0)}
    assert seen.made == {"candidate_memories"}
    assert seen.shares["leak_checks"] == 1.0


def test_a_free_model_is_not_asked_and_what_it_would_say_is_not_known(rehearse, served):
    free = Model(Offline())
    knobs = {"count": 3, "extractor": free, "auditor": served}

    seen = rehearse(knobs, knobs, ALL, again="candidate_memories")

    assert seen.counts == {"candidate_memories": (0, 3)}
    assert seen.shares["leak_checks"] == 1.0


def test_nothing_after_the_table_to_stop_at_is_counted(rehearse, know, stages, served):
    know(stages[1], [0, 1, 2])
    knobs = {"count": 3, "extractor": served, "auditor": served}

    seen = rehearse(knobs, knobs, ALL, again="candidate_memories", until="memories")

    assert set(seen.counts) == {"candidate_memories"}


def test_only_what_leads_to_a_model_is_wanted_and_only_what_that_reads_is_copied(flow, served, tmp_path):
    knobs = {"count": 3, "extractor": served, "auditor": served}
    planner = Planner({})
    flow(planner, **knobs)
    built = {step.table.name: Built(step.table.fingerprint, step.position, 1.0, 3) for step in planner.steps[:2]}
    with connect(tmp_path / "warehouse.duckdb") as db:
        for name in built:
            db.execute(f"create table {name} as select 1 as number")

    planner = Planner(built)
    flow(planner, **knobs)

    assert wanted_of(planner.steps) == {"memories", "leak_checks"}
    with copy_of(tmp_path / "warehouse.duckdb", planner.steps) as db:
        names = {name for (name,) in db.execute("select table_name from duckdb_tables()").fetchall()}
    assert names == {"candidate_memories", "builds", "dropped"}


def test_the_warehouse_is_as_it_was(rehearse, know, stages, served, tmp_path):
    know(stages[1], [0, 1, 2])
    was = {"count": 3, "extractor": served, "auditor": served}

    rehearse(was, was | {"count": 2}, ALL)

    with connect(tmp_path / "warehouse.duckdb", read_only=True) as db:
        assert db.execute("select count(*) from samples").fetchall() == [(3,)]
