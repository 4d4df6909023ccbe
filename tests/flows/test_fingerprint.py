import hashlib
import inspect
import json
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from flows.fingerprint import fingerprint, made_of
from flows.modules import Piece, code_of
from warehouse import Table

ROOT = Path(__file__).resolve().parents[2]
CODE = "def people(db):\n    return db.sql('select 1')\n"


class Box:
    def __init__(self, identity):
        self.identity = identity


class Sizes(BaseModel):
    small: int = 1


def of(stage, *reads, **knobs):
    return fingerprint(stage, reads, knobs)


def test_the_same_things_have_the_same_fingerprint(stage_of):
    stage = stage_of("people", CODE)

    assert of(stage, Table("a", "1"), size=1) == of(stage, Table("a", "1"), size=1)
    assert len(of(stage)) == 16


def test_it_does_not_matter_where_the_code_lies(stage_of):
    assert of(stage_of("people", CODE)) == of(stage_of("people", CODE))


def test_every_knob_and_every_table_that_is_read_counts(stage_of):
    stage = stage_of("people", CODE)
    fingerprints = {
        of(stage),
        of(stage, size=1),
        of(stage, size=2),
        of(stage, size="1"),
        of(stage, size=None),
        of(stage, size=True),
        of(stage, size=[1]),
        of(stage, size=[1, 2]),
        of(stage, size={"a": 1}),
        of(stage, length=1),
        of(stage, Table("a", "1")),
        of(stage, Table("a", "2")),
        of(stage, Table("b", "1")),
        of(stage, Table("a", "1"), Table("b", "1")),
    }

    assert len(fingerprints) == 14


def test_the_order_of_knobs_does_not_count(stage_of):
    stage = stage_of("people", CODE)

    assert of(stage, a=1, b=2) == of(stage, b=2, a=1)


def test_a_knob_with_an_identity_counts_by_it(stage_of):
    stage = stage_of("people", CODE)

    assert of(stage, box=Box(["x", 1])) == of(stage, box=Box(["x", 1]))
    assert of(stage, box=Box(["x", 1])) != of(stage, box=Box(["x", 2]))


def test_a_day_counts_by_its_date(stage_of):
    stage = stage_of("people", CODE)

    assert of(stage, since=date(2023, 5, 1)) == of(stage, since="2023-05-01")
    assert of(stage, since=date(2023, 5, 1)) != of(stage, since=date(2023, 5, 2))


def test_a_model_of_values_counts_by_them(stage_of):
    stage = stage_of("people", CODE)

    assert of(stage, sizes=Sizes()) == of(stage, sizes={"small": 1})
    assert of(stage, sizes=Sizes()) != of(stage, sizes=Sizes(small=2))


@pytest.mark.parametrize("knob", [object(), Path("/here"), {1, 2}, b"bytes", lambda: 1, Box(object()), [Path("/here")]])
def test_a_knob_whose_value_does_not_stand_still_is_refused(stage_of, knob):
    with pytest.raises(TypeError, match="has no value that stands still"):
        of(stage_of("people", CODE), knob=knob)


def test_the_code_of_a_stage_and_all_files_of_its_name_count(stage_of):
    stage = stage_of("people", CODE)
    file = Path(inspect.getfile(stage))
    seen = [of(stage)]

    for name, text in [("people.sql", "select 1"), ("people.prompt.md", "Hello"), ("people.py", CODE + "# more\n")]:
        file.with_name(name).write_text(text)
        seen.append(of(stage))
    file.with_name("other.sql").write_text("select 2")

    assert len(set(seen)) == 4
    assert of(stage) == seen[-1]


def code_with(stage_of, imports):
    return set(code_of(Path(inspect.getfile(stage_of("people", imports + CODE)))))


def digests(*paths):
    return {hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize(
    "imports",
    [
        "from stages.evidence import find_evidence\n",
        "from stages import evidence\n",
        "import stages.evidence\n",
        "if True:\n    from stages.evidence import find_evidence\n",
    ],
)
def test_the_modules_that_a_stage_names_count(stage_of, imports):
    assert digests("stages/evidence.py") < code_with(stage_of, imports)


def test_the_modules_that_those_name_count_too_and_so_do_their_prompts(stage_of):
    made_of = digests("stages/memories.py", "stages/memories.prompt.md", "stages/evidence.py", "stages/draws.py")

    assert made_of < code_with(stage_of, "from stages.memories import memories\n")


def test_a_package_that_a_stage_names_counts(stage_of):
    assert digests("llm/offline/__init__.py") < code_with(stage_of, "from llm.offline import NAME\n")


def test_what_only_carries_things_to_a_stage_does_not_count(stage_of):
    carriers = "from warehouse import Warehouse\nfrom llm.gateway import Model\nimport duckdb\n"

    assert len(code_with(stage_of, carriers)) == 1


def test_the_contract_of_a_table_counts(stage_of):
    both = CODE + CODE.replace("people", "users")

    assert of(stage_of("people", both)) != of(stage_of("users", both))


def test_it_is_the_hash_of_files_contract_tables_and_knobs(stage_of):
    """Fingerprints of earlier builds stay what they were."""
    stage = stage_of("people", CODE)
    parts = [[hashlib.sha256(CODE.encode()).hexdigest()], None, [["a", "1"]], {"size": {"small": 1}}]

    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)

    assert of(stage, Table("a", "1"), size=Sizes()) == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_its_pieces_have_names_that_hold_no_path_of_this_machine(stage_of):
    stage = stage_of("memories", "from stages.memories import memories as made\n\nmemories = made\n")

    names = [piece.name for piece in made_of(stage, [], {}).pieces]

    assert {"stages/memories.py", "stages/memories.prompt.md", "expectations/memories.py"} <= set(names)
    assert [name for name in names if name.startswith(("/", ".."))] == []


def test_each_piece_tells_by_itself_what_it_is(stage_of):
    stage = stage_of("people", "import rensa\n" + CODE)
    knobs = {"caps": {"PA": 3, "VRA": None}, "sizes": [1, 2], "unit": "user", "empty": {}}

    pieces = made_of(stage, [Table("a", "1")], knobs).pieces

    assert [piece for piece in pieces if piece.kind not in ("code", "library")] == [
        Piece("table", "a", "1"),
        Piece("knob", "caps.PA", "3"),
        Piece("knob", "caps.VRA", "null"),
        Piece("knob", "sizes", "[1, 2]"),
        Piece("knob", "unit", '"user"'),
    ]
    assert [piece.name for piece in pieces if piece.kind == "code"] == ["people.py"]
    assert [piece.value.split()[0] for piece in pieces if piece.kind == "library"] == ["rensa"]


def test_two_tables_that_differ_differ_in_a_piece(stage_of):
    stage, other = stage_of("people", CODE), stage_of("people", CODE + "# more\n")
    made = [
        made_of(stage, [], {"size": 1}),
        made_of(stage, [], {"size": 2}),
        made_of(other, [], {"size": 1}),
        made_of(stage, [Table("a", "1")], {"size": 1}),
    ]

    assert len({one.fingerprint for one in made}) == len({tuple(one.pieces) for one in made}) == 4
