"""Texts of the warehouse, read as they are needed."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from stages.near_duplicates.finding import TEXTS
from stages.near_duplicates.shingles import Numbers
from warehouse import Warehouse


class Stored:
    """Texts of a query that gives `position`, `id`, `user_id`, `group` and `text`.

    `knobs` are the parameters of the query. Texts are read `rows` at a time, once to be sketched, and those that share
    a band once more to be compared.
    """

    def __init__(self, db: Warehouse, query: str, knobs: Mapping[str, Any], rows: int) -> None:
        self.db, self.query, self.knobs, self.rows = db, query, dict(knobs), rows

    def names(self) -> pa.Table:
        """Return `id` and `user_id` of the texts, by position."""
        return self.db.sql(
            f"select id, user_id from ({self.query}) order by position", params=self.knobs
        ).to_arrow_table()

    def chunks(self) -> Iterator[pa.Table]:
        """Give all texts; nothing else may be asked of the database meanwhile."""
        found = self.db.sql(f'select position, "group", text from ({self.query})', params=self.knobs)
        for batch in found.to_arrow_reader(self.rows):
            yield pa.Table.from_batches([batch]).cast(TEXTS)

    def at(self, positions: Numbers) -> pa.Table:
        """Return the texts at some positions."""
        chosen = f'select position, "group", text from ({self.query}) where position in (select unnest($positions))'
        return self.db.sql(chosen, params=self.knobs | {"positions": positions.tolist()}).to_arrow_table().cast(TEXTS)
