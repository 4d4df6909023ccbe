"""Runs a stage as a build does: drops split off, items counted, the contract of its table asked."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from expectations.contract import contract_of
from expectations.violations import count_violations
from stages.parted import Parted
from stages.source import Shard, Source, files_of
from warehouse import Relation, Warehouse, sha256_of


@dataclass(frozen=True)
class Settled:
    """What became of a stage's items: the rows that it keeps, and the reason and detail of each drop."""

    rows: list[dict[str, Any]]
    drops: list[dict[str, Any]]
    item: str

    @property
    def reasons(self) -> dict[str, str]:
        return {drop[self.item]: drop["drop_reason"] for drop in self.drops}

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]


@pytest.fixture
def given(given: Callable[..., Warehouse]) -> Callable[..., Warehouse]:
    """Draw tables as everywhere; one that is drawn again takes the place of the one before."""

    def draw(**drawings: str) -> Warehouse:
        db = given()
        for name in drawings:
            db.execute(f"drop table if exists {name}")
        return given(**drawings)

    return draw


def rows_of(db: Warehouse, made: Any) -> Relation:
    return made if isinstance(made, Relation) else db.from_arrow(made)


@pytest.fixture
def settle() -> Callable[..., Settled]:
    """Run a stage: `settle(db, users)`. Fails where an item is lost or the table breaks its contract.

    Drawn ids are short, so the contract is not asked for their form; and a test may drop every row.
    """

    def run(db: Warehouse, stage: Callable[..., Any], **knobs: Any) -> Settled:
        made = stage(db, **knobs)
        parted = isinstance(made, Parted)
        drops = rows_of(db, made.dropped).to_arrow_table().to_pylist() if parted else []
        rows_of(db, made.kept if parted else made).create("staged")
        named = {column for column, *_ in db.execute("describe staged").fetchall()}
        where = "drop_reason is null" if "drop_reason" in named else "true"
        more = ", ".join(sorted(named & {"drop_reason", "drop_detail"}))
        chosen = f"* exclude ({more})" if more else "*"
        db.execute(f"create table settled as select {chosen} from staged where {where}")
        kept = db.sql("from settled").to_arrow_table().to_pylist()
        drops += db.sql(f"from staged where not ({where})").to_arrow_table().to_pylist()
        contract = contract_of(stage.__name__)
        short = replace(contract, min_rows=0, columns=tuple(replace(one, pattern=None) for one in contract.columns))
        _, subjects = count_violations(db, "settled", short, name=stage.__name__)
        assert [f"{one.name} {broken}" for one in subjects for broken in one.violations] == []
        item = getattr(sys.modules[stage.__module__], "ITEM", None)
        if item is not None:
            wanted = f"select distinct {item.column} from {item.table} where {item.where}"
            here = {one for (one,) in db.execute(f"select {item.column} from staged").fetchall()}
            here |= {drop[item.column] for drop in drops}
            assert {one for (one,) in db.execute(wanted).fetchall()} - here == set()
        db.execute("drop table staged; drop table settled")
        return Settled(kept, drops, item.column if item else "")

    return run


@pytest.fixture
def source_of(tmp_path: Path) -> Callable[[Mapping[str, Any]], Source]:
    """Write shards, and give the source of them: JSON lines of bytes or records, Parquet of a table or records."""

    def make(files: Mapping[str, Any]) -> Source:
        folder = tmp_path / "source"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".parquet":
                pq.write_table(content if isinstance(content, pa.Table) else pa.Table.from_pylist(content), path)
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text("".join(json.dumps(one) + "\n" for one in content), encoding="utf-8")
        shards = [Shard(name, path, path.stat().st_size, sha256_of(path)) for name, path in files_of(folder)]
        return Source(tuple(shards), tmp_path / "scratch")

    return make


@pytest.fixture
def talk() -> Callable[..., dict[str, Any]]:
    """Give a record in WildChat's form: `talk("h1", "ip1", messages=6, language="English")`."""

    def make(hash: str = "h1", ip: str | None = "ip1", messages: int = 2, **more: Any) -> dict[str, Any]:
        said = [{"role": ("user", "assistant")[i % 2], "content": f"message {i}"} for i in range(messages)]
        record = {"conversation_hash": hash, "model": "gpt-4", "timestamp": "2023-04-09T00:02:53+00:00"}
        return {**record, "conversation": said, "hashed_ip": ip, **more}

    return make
