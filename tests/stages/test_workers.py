import pyarrow as pa
import pytest

from stages.workers import HERE, Here, joined, pieces_of, share_of, streamed
from warehouse import connect

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def numbers(*values):
    return pa.table({"id": list(values), "text": [f"t{one}" for one in values]}, schema=SCHEMA)


def test_one_piece_after_the_other_is_done_when_it_is_asked_for():
    done = []

    def note(piece, *, times):
        done.append(piece["id"][0].as_py())
        return piece.set_column(0, "id", pa.array([times * one for one in piece["id"].to_pylist()]))

    made = HERE.each(note, iter([numbers(3), numbers(1)]), times=10)

    assert done == []
    assert next(made)["id"].to_pylist() == [30]
    assert done == [3]
    assert [one["id"].to_pylist() for one in made] == [[10]]


def test_all_rows_of_a_query_come_in_pieces():
    with connect() as db:
        db.execute("create table t as from range(10000) t(id)")
        pieces = list(pieces_of(db, "from t where id <> 5", 3000))

    assert len(pieces) > 1
    assert sorted(one for piece in pieces for one in piece["id"].to_pylist()) == [*range(5), *range(6, 10000)]


def test_pieces_are_joined_in_the_order_of_a_column_and_keep_their_own_where_it_is_equal():
    two = pa.table({"id": [2, 2, 1], "text": ["b", "a", "c"]}, schema=SCHEMA)

    assert joined([two, numbers(0)], SCHEMA, "id")["text"].to_pylist() == ["t0", "c", "b", "a"]
    assert joined([], SCHEMA, "id").num_rows == 0


def test_pieces_are_streamed_in_their_order():
    assert streamed(iter([numbers(2, 1), numbers(), numbers(7)])).read_all()["id"].to_pylist() == [2, 1, 7]


@pytest.mark.parametrize(("rows", "pieces", "share"), [(0, 1, 1), (10, 1, 5), (10, 4, 3), (3, 8, 1), (100, 2, 5)])
def test_a_piece_is_no_more_than_what_each_worker_gets(rows, pieces, share):
    assert share_of(5, rows, Here(pieces)) == share
