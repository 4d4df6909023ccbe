from annotation.desk import Correction, NoDesk
from stages import annotations

TABLES = {
    "annotation_tasks": "task_id | memory_ids::varchar[]\n-\na1 | [m3, m1]\na2 | [m2]",
    "sample_memories": "memory_id\n-\nm1\nm2\nm3",
}


class ADesk:
    """A desk at which a person has looked at two memories."""

    identity = "a person"

    def corrections(self, memory_ids):
        decided = {"m1": Correction("m1", "removed", True), "m3": Correction("m3", "kept", True)}
        return [decided.get(one, Correction(one, "passed", False)) for one in memory_ids]


def test_with_no_people_each_memory_passes_and_says_that_nobody_saw_it(given, settle):
    rows = settle(given(**TABLES), annotations, desk=NoDesk()).rows

    assert rows == [{"memory_id": one, "verdict": "passed", "verified": False} for one in ("m1", "m2", "m3")]


def test_what_people_decided_stands_beside_what_they_have_not_seen(given, settle):
    rows = settle(given(**TABLES), annotations, desk=ADesk()).rows

    assert [(row["memory_id"], row["verdict"], row["verified"]) for row in rows] == [
        *(("m1", "removed", True), ("m2", "passed", False), ("m3", "kept", True)),
    ]
