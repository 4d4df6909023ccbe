"""Reads Parquet in WildChat's published schemas by the names of columns, never by what the first rows show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb.sqltypes import DuckDBPyType

from warehouse import BadInputError, Warehouse

V1, OF_1M, OF_4_8M = "wildchat_v1", "wildchat_1m", "wildchat_4.8m"
"""The published schemas. The first has no user; the last has messages that say when they were `created`."""

TEXTS = ("conversation_hash", "conversation_id", "hashed_ip", "model", "timestamp", "language", "country")
READ = (*TEXTS, "toxic", "redacted")
"""The columns that are read where a file has them, beside `conversation`."""
TOLD = ("problem", "source_schema")
"""Those that a conversion adds; in a published file such a name would mean something else."""

NEEDED = ("conversation_hash", "model", "timestamp", "conversation", "hashed_ip")
NEEDED_OF_V1 = ("conversation_id", "model", "timestamp", "conversation")
MESSAGES = 'STRUCT("role" VARCHAR, "content" VARCHAR)[]'

CLOCK = "([01][0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z| UTC|[+-][01][0-9](:?[0-5][0-9])?)?"
WRITTEN_TIME = f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{CLOCK})?"
"""How a time is written, as a regular expression; any other text is no time."""
MILLISECONDS = 1e11  # above this a time in numbers counts them: as seconds it would be in the year 5138
TIMES = "'0001-01-01 00:00:00+00'::timestamptz and '9999-12-31 23:59:59.999999+00'::timestamptz"


@dataclass(frozen=True)
class Layout:
    """The published schema of a Parquet file, and the type of each column in it that is read."""

    schema: str
    types: tuple[tuple[str, str], ...]


def schema_of(has_hash: bool, has_id: bool, of_messages: set[str]) -> str:
    """Tell the published schema by three things: which of the two keys there is, and the fields of messages.

    Args:
        has_hash: There is a `conversation_hash`, the key of later versions.
        has_id: There is a `conversation_id`, the key of the first.
        of_messages: The fields that messages have.
    """
    if has_id and not has_hash:
        return V1
    return OF_4_8M if "created" in of_messages else OF_1M


def layout_of(db: Warehouse, path: Path, name: str, *, is_converted: bool = False) -> Layout:
    """Look at the columns of a Parquet file, which takes no time.

    Args:
        db: Any database.
        path: The file.
        name: What errors call it.
        is_converted: The file is one of ours, in which each row tells its schema and its problem.

    Raises:
        BadInputError: it lacks needed columns, or is no Parquet file.
    """
    try:
        file = db.read_parquet(str(path))
    except duckdb.Error:
        raise BadInputError(f"{name} is no Parquet file, or it is damaged") from None
    types = dict(zip(file.columns, file.types, strict=True))
    schema = schema_of("conversation_hash" in types, "conversation_id" in types, set())
    needed = NEEDED_OF_V1 if schema == V1 else NEEDED
    if missing := [column for column in needed if column not in types]:
        raise BadInputError(f"{name} lacks the columns {', '.join(missing)}; is it WildChat's form?")
    fields = _fields(types["conversation"])
    if not all(fields.get(field) == "VARCHAR" for field in ("role", "content")):
        raise BadInputError(f"{name}: the column conversation is not a list of messages with role and content")
    schema = schema_of("conversation_hash" in types, "conversation_id" in types, set(fields))
    wanted = (*READ, *TOLD) if is_converted else READ
    return Layout(schema, tuple((column, str(types[column])) for column in wanted if column in types))


def scan_of(files: Sequence[tuple[str, Path]], layout: Layout) -> str:
    """Return SQL for the rows of files of one layout, each with its name, in their order.

    The texts are without the space around them, and one of nothing but space is null; so is a time that cannot be
    read or is outside the years 1 to 9999, and a flag that is no boolean. A row whose one key is `conversation_id` is
    of the first schema.
    """
    names, paths = ([_literal(str(file[place])) for file in files] for place in (0, 1))
    types = dict(layout.types)
    time = _time(types["timestamp"])
    toxic, redacted = (flag if types.get(flag) == "BOOLEAN" else "null::boolean" for flag in ("toxic", "redacted"))
    hash, id = _text("conversation_hash"), _text("conversation_id")
    schema, problem = TOLD[::-1] if "problem" in types else (_literal(layout.schema), "null::varchar")
    return f"""
        select
            ([{", ".join(names)}])[(file_index + 1)::bigint] as shard,
            file_row_number as row,
            shard || ':' || row as source_row,
            case when {hash} is null and {id} is not null then {_literal(V1)} else {schema} end as source_schema,
            {problem} as problem,
            coalesce({hash}, {id}) as conversation_hash,
            {_text("hashed_ip")} as hashed_ip,
            {_text("model")} as model,
            case when {time} between {TIMES} then {time} end as timestamp,
            {_text("language")} as language,
            {_text("country")} as country,
            {toxic} as toxic,
            {redacted} as redacted,
            conversation
        from read_parquet([{", ".join(paths)}], file_row_number = true, schema = map {{{_schema(types)}}})
    """


def _fields(type: DuckDBPyType) -> dict[str, str]:
    """Return the fields of messages with their types; none where the type is no list of structs."""
    message = _inside(type, "list").get("child", type)
    return {name: str(field) for name, field in _inside(message, "struct").items()}


def _inside(type: DuckDBPyType, kind: str) -> dict[str, DuckDBPyType]:
    parts = type.children if type.id == kind else []
    return {name: part for name, part in parts if isinstance(part, DuckDBPyType)}


def _schema(types: dict[str, str]) -> str:
    """Return the columns as `read_parquet` wants them; one that a file does not have is null."""
    wanted = {**dict.fromkeys(READ, "VARCHAR"), **types, "conversation": MESSAGES}
    return ", ".join(
        f"'{column}': {{name: '{column}', type: {_literal(type)}, default_value: null}}"
        for column, type in wanted.items()
    )


def _text(column: str) -> str:
    return rf"nullif(regexp_replace({column}::varchar, '^[\s\p{{Z}}]+|[\s\p{{Z}}]+$', '', 'g'), '')"


def _time(type: str) -> str:
    """Return SQL for the time of the row: one that names no zone is in UTC."""
    if re.fullmatch("TIMESTAMP[^[]*", type):
        return "timestamp::timestamptz" if "Z" in type else "timezone('UTC', timestamp::timestamp)"
    if re.fullmatch(r"\w*INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)", type):
        microseconds = f"timestamp::double * if(timestamp::double > {MILLISECONDS}, 1e3, 1e6)"
        return f"timezone('UTC', try(make_timestamp(try_cast({microseconds} as bigint))))"
    return f"try_cast(regexp_extract({_text('timestamp')}, '^{WRITTEN_TIME}$') as timestamptz)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
