import subprocess
import sys

import pytest

from expectations.check import ContractError
from flows.build import Builder, Planner, Reached, built_tables, pieces_in
from flows.swap import LostItemsError
from llm.gateway import Model
from warehouse import Home, connect

# Two stages in the form of real tables, whose contracts they have to keep.
FIRST = """
SQL = '''
    select 'm' || lpad(i::varchar, 16, '0') as memory_id, 'd0123456789abcdef' as dialogue_id,
        'u0123456789abcdef' as user_id, i::integer as sample_rank, 'Possessions/Pet' as label, 'direct' as type,
        'any' as drawn_for
    from range(1, $count + 1) t(i)
'''

def sample_memories(db, *, count=3):
    return db.sql(SQL, params={"count": count})
"""
SECOND = """
from stages.item import Item

ITEM = Item("sample_memories", "memory_id")
SQL = '''
    select memory_id, 'passed' as verdict, false as verified,
        case when sample_rank = 2 then 'second' end as drop_reason, 'rank ' || sample_rank as drop_detail
    from sample_memories
'''

def annotations(db, **knobs):
    return db.sql(SQL)
"""


class Notes:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.notes = []

    def starting(self):
        self.notes.append(("starting",))

    def started(self, name):
        self.notes.append(("started", name))

    def counted(self, name, done, total):
        self.notes.append(("counted", name, done, total))

    def finished(self, name, rows, dropped, seconds):
        self.notes.append(("finished", name, rows, dropped))


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.make()
    return home


@pytest.fixture
def build(home):
    """Plan and build a flow: give what was built anew."""

    def run(flow, until=None, again=None):
        planner = Planner(built_tables(home), until, again)
        notes = Notes()
        for each in (planner, Builder(home, planner.steps, notes, until)):
            try:
                flow(each)
            except Reached:
                assert until
        return [note[1] for note in notes.notes if note[0] == "started"]

    return run


@pytest.fixture
def first(stage_of):
    return stage_of("sample_memories", FIRST)


@pytest.fixture
def second(stage_of):
    return stage_of("annotations", SECOND)


def chain(*stages, **knobs):
    """A flow of stages, each reading the one before; `knobs` are those of the first."""

    def flow(build):
        first, *others = stages
        made = build(first, **knobs)
        for stage in others:
            made = build(stage, made)

    return flow


def rows(home, sql):
    with connect(home.warehouse) as db:
        return db.execute(sql).fetchall()


def test_a_table_holds_the_rows_of_its_stage_and_a_line_of_the_log(home, build, first):
    assert build(chain(first)) == ["sample_memories"]

    assert rows(home, "select sample_rank from sample_memories order by 1") == [(1,), (2,), (3,)]
    assert rows(home, "select name, position, reads, item, items_in, rows, dropped, calls from builds") == [
        ("sample_memories", 1, [], None, None, 3, 0, 0)
    ]


def test_nothing_is_built_twice(build, first, second):
    assert build(chain(first, second)) == ["sample_memories", "annotations"]
    assert build(chain(first, second)) == []


def test_another_knob_builds_a_table_again_and_those_that_read_it(home, build, first, second):
    build(chain(first, second, count=3))

    assert build(chain(first, second, count=4)) == ["sample_memories", "annotations"]
    assert rows(home, "select count(*) from annotations") == [(3,)]


def test_other_code_builds_a_table_again_and_not_those_before_it(build, stage_of, first, second):
    build(chain(first, second))

    assert build(chain(first, stage_of("annotations", SECOND + "# changed\n"))) == ["annotations"]


def test_another_table_to_read_builds_a_table_again(build, first, second):
    def flow(build, size):
        build(second, build(first), size=size)

    build(lambda one: flow(one, 1))

    assert build(lambda one: flow(one, 1)) == []
    assert build(lambda one: flow(one, 2)) == ["annotations"]


def test_going_back_to_the_old_knob_builds_again(home, build, first):
    for count in (3, 4, 3):
        assert build(chain(first, count=count)) == ["sample_memories"]

    assert rows(home, "select count(*) from sample_memories") == [(3,)]


def test_a_build_that_is_told_to_stop_after_a_table_stops_there(home, build, first, second):
    assert build(chain(first, second), until="sample_memories") == ["sample_memories"]
    assert list(built_tables(home)) == ["sample_memories"]


def test_a_table_that_the_stage_was_not_given_is_not_there_for_it(build, first, second):
    def flow(build):
        build(first)
        build(second)  # which reads sample_memories all the same

    with pytest.raises(Exception, match="sample_memories does not exist"):
        build(flow)


def test_a_knob_of_a_type_that_does_not_stand_still_is_refused_before_anything_is_built(home, build, first):
    with pytest.raises(TypeError, match="a knob of type set has no value that stands still"):
        build(chain(first, count={1, 2}))

    assert built_tables(home) == {}


def test_drops_are_split_off_with_reason_and_detail(home, build, first, second):
    build(chain(first, second))

    assert rows(home, "from dropped") == [("annotations", "m0000000000000002", "second", "rank 2")]
    assert rows(home, "select memory_id[-1], verdict from annotations order by 1") == [("1", "passed"), ("3", "passed")]
    assert [name for name, *_ in rows(home, "describe annotations")] == ["memory_id", "verdict", "verified"]
    assert rows(home, "select items_in, rows, dropped from builds where name = 'annotations'") == [(3, 2, 1)]


def test_drops_of_a_table_that_is_built_again_are_replaced_and_others_stay(home, build, stage_of, first, second):
    build(chain(first, second))
    with connect(home.warehouse) as db:
        db.execute("insert into dropped values ('other', 'x', 'y', null)")

    build(chain(first, stage_of("annotations", SECOND.replace("= 2", "= 3"))))

    assert rows(home, "select stage, item from dropped order by stage") == [
        ("annotations", "m0000000000000003"),
        ("other", "x"),
    ]


def test_items_that_a_stage_loses_are_named(home, build, stage_of, first):
    losing = stage_of(
        "annotations", SECOND.replace("from sample_memories", "from sample_memories where sample_rank < 3")
    )

    with pytest.raises(LostItemsError) as lost:
        build(chain(first, losing))

    assert str(lost.value) == (
        "annotations lost sample_memories.memory_id: m0000000000000003, neither kept nor dropped"
    )
    assert list(built_tables(home)) == ["sample_memories"]


FAILURES = {
    "its code raises": ("return db.sql(SQL)", "raise RuntimeError('broken')", RuntimeError),
    "its rows raise": ("'passed' as", "error('broken') as", Exception),
    "it loses an item": ("from sample_memories", "from sample_memories where false", LostItemsError),
    "it breaks its contract": ("'passed'", "'perhaps'", ContractError),
    "it leaves out a column": (", false as verified", "", ContractError),
    "it repeats its key": ("from sample_memories", "from sample_memories, range(2)", ContractError),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_when_a_stage_fails_the_old_table_its_log_and_its_drops_stand(home, build, stage_of, first, second, failure):
    build(chain(first, second))
    kept = ("annotations", "builds", "dropped", "made_of")
    before = [rows(home, f"from {table} order by all") for table in kept]
    files = {path.name: path.read_text() for path in home.reports.iterdir()}
    old, new, error = FAILURES[failure]

    with pytest.raises(error):
        build(chain(first, stage_of("annotations", SECOND.replace(old, new))))

    assert [rows(home, f"from {table} order by all") for table in kept] == before
    assert rows(home, "select table_name from duckdb_tables() where table_name like '%staged%'") == []
    assert {path.name: path.read_text() for path in home.reports.iterdir()} == files
    assert build(chain(first, second)) == []


def test_what_was_built_before_a_failure_is_not_built_again(build, stage_of, first, second):
    with pytest.raises(ZeroDivisionError):
        build(chain(first, stage_of("annotations", SECOND.replace("db.sql(SQL)", "1 // 0"))))

    assert build(chain(first, second)) == ["annotations"]


MODEL_STAGE = """
from pydantic import BaseModel

from llm.gateway import Prompt, Request


class Answer(BaseModel):
    verdict: str


def annotations(db, *, reviewer):
    ids = [id for (id,) in db.execute("select memory_id from sample_memories order by all").fetchall()]
    outcomes = reviewer.ask(Prompt("annotations", "Review."), [Request(id, {"id": id}) for id in ids], Answer)
    verdicts = [outcome.answer.verdict for outcome in outcomes]
    values = ", ".join(f"('{id}', '{verdict}', false)" for id, verdict in zip(ids, verdicts))
    return db.sql(f"from (values {values}) t(memory_id, verdict, verified)").to_arrow_table()
"""

OPEN = """
import sys, duckdb
print(duckdb.connect(sys.argv[1]).execute("select count(*) from builds").fetchall()[0][0], end="")
"""


def test_while_a_model_is_asked_the_warehouse_is_free(home, build, stage_of, first, model_says):
    seen = []

    def answer(input):
        seen.append(subprocess.run([sys.executable, "-c", OPEN, home.warehouse], capture_output=True, text=True).stdout)
        return {"verdict": "kept"}

    def flow(build):
        build(reviewed, build(first), reviewer=model)

    reviewed, model = stage_of("annotations", MODEL_STAGE), model_says(answer)
    build(flow)

    assert seen == ["1"] * 3
    assert rows(home, "select calls from builds where name = 'annotations'") == [(3,)]


def test_the_watcher_is_told_of_each_stage_of_its_calls_and_of_what_was_there(home, stage_of, first, model_says):
    reviewed, model = stage_of("annotations", MODEL_STAGE), model_says({"verdict": "kept"})
    told = []
    for _ in range(2):
        planner, notes = Planner(built_tables(home)), Notes()
        for build in (planner, Builder(home, planner.steps, notes)):
            build(reviewed, build(first), reviewer=model)
        told.append(notes.notes)

    assert told[0] == [
        ("started", "sample_memories"),
        ("finished", "sample_memories", 3, 0),
        ("started", "annotations"),
        *(("counted", "annotations", done, 3) for done in (1, 2, 3)),
        ("finished", "annotations", 3, 0),
    ]
    assert told[1] == [("finished", "sample_memories", None, 0), ("finished", "annotations", None, 0)]


def test_another_model_builds_a_table_again(build, stage_of, first, model_says):
    reviewed = stage_of("annotations", MODEL_STAGE)

    def flow(build, model):
        build(reviewed, build(first), reviewer=model)

    assert isinstance(model_says("x"), Model)
    build(lambda one: flow(one, model_says({"verdict": "kept"}, "a")))
    assert build(lambda one: flow(one, model_says({"verdict": "kept"}, "a"))) == []
    assert build(lambda one: flow(one, model_says({"verdict": "kept"}, "b"))) == ["annotations"]


def test_a_home_in_which_nothing_was_built_has_no_tables(home):
    assert built_tables(home) == {}


# Built again, though made of the same things


def test_a_table_is_built_again_when_that_is_asked_for_and_so_is_what_reads_it(home, build, first, second):
    build(chain(first, second))

    assert build(chain(first, second), again="annotations") == ["annotations"]
    assert build(chain(first, second), again="sample_memories") == ["sample_memories", "annotations"]
    assert build(chain(first, second)) == []


def test_a_build_that_was_stopped_half_way_through_building_again_goes_on(build, first, second):
    build(chain(first, second))

    assert build(chain(first, second), until="sample_memories", again="sample_memories") == ["sample_memories"]
    assert build(chain(first, second)) == ["annotations"]
    assert build(chain(first, second)) == []


def test_all_that_comes_after_is_built_again_and_not_only_the_next(home, build, stage_of, first, second):
    third = stage_of("gold_memories", "def gold_memories(db):\n    raise AssertionError\n")

    def flow(build):
        build(third, build(second, build(first)))

    build(chain(first, second))
    planner = Planner(built_tables(home), again="sample_memories")
    flow(planner)

    assert [(step.table.name, step.is_built, step.reads) for step in planner.steps] == [
        ("sample_memories", False, []),
        ("annotations", False, ["sample_memories"]),
        ("gold_memories", False, ["annotations"]),
    ]


def test_a_table_that_reads_nothing_of_what_is_built_again_stays(build, stage_of, first):
    alone = "(select 'm0000000000000001' as memory_id, 1 as sample_rank)"
    other = stage_of("annotations", SECOND.replace("from sample_memories", f"from {alone}").replace("ITEM = ", "# "))

    def flow(build):
        build(first)
        build(other)

    assert build(flow) == ["sample_memories", "annotations"]
    assert build(flow, again="sample_memories") == ["sample_memories"]


# What a table is made of


def test_what_a_table_is_made_of_is_written_down_with_it_and_replaced_with_it(home, build, first, second):
    for count in (3, 4):
        build(chain(first, second, count=count))

    with connect(home.warehouse) as db:
        pieces = pieces_in(db)
    made = built_tables(home)
    assert ("knob", "count", "4") in pieces["sample_memories"]
    assert [piece for piece in pieces["annotations"] if piece.kind == "table"] == [
        ("table", "sample_memories", made["sample_memories"].fingerprint)
    ]
    names = {piece.name for piece in pieces["annotations"] if piece.kind != "table"}
    assert {"annotations.py", "stages/item.py", "expectations/annotations.py"} <= names
    assert len(pieces["sample_memories"]) == len(set(pieces["sample_memories"]))


def test_a_home_from_before_has_tables_of_which_nothing_was_written_down(home, build, first):
    build(chain(first))
    with connect(home.warehouse) as db:
        db.execute("drop table made_of")

    with connect(home.warehouse) as db:
        assert pieces_in(db) == {}
    assert build(chain(first)) == []
