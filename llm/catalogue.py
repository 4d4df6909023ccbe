"""The models that can be named: where each is served, what it takes, and what it costs."""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AnyHttpUrl, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from llm.errors import ModelError
from warehouse import BadInputError

FORM = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
MESSAGES = {
    "missing": "is missing",
    "unexpected_keyword_argument": "unknown key",
    "dataclass_type": "wants a table",
}


def _address(url: str) -> str:
    try:
        parsed = AnyHttpUrl(url)
        is_plain = parsed.username is parsed.password is parsed.query is parsed.fragment is None and url.split() == [
            url
        ]
    except ValidationError:
        is_plain = False
    if not is_plain:
        raise ValueError("wants an address such as https://host/v1, with no key in it")
    return url


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("wants the name of an environment variable, not a key")
    return name


Text = Annotated[str, Field(strict=True, min_length=1)]
Count = Annotated[int, Field(strict=True, gt=0)]
Dollars = Annotated[float, Field(strict=True, ge=0)]


@dataclass(frozen=True, config=FORM)
class Price:
    """What a model costs, in US dollars per million tokens; `source` says where that is printed, `date` when.

    `cached_input` is the price of input that the server has seen before, None where it makes no difference or none is
    known. `batch_factor` (0 to 1) is the share of the price that is asked in a batch, 1 where there are none.
    """

    input: Dollars
    output: Dollars
    source: Text
    date: Annotated[date, Field(strict=True)]
    cached_input: Dollars | None = None
    batch_factor: Annotated[float, Field(strict=True, ge=0, le=1)] = 1.0


@dataclass(frozen=True, config=FORM)
class Entry:
    """One model: its name in recipes, its address, the name that the server knows it by, and how it wants to be asked.

    Attributes:
        name: The name in recipes.
        url: The address up to and without `/chat/completions` or `/embeddings`.
        served_as: The name that the server knows the model by.
        key_variable: The environment variable that holds the key; None where the server wants none.
        kind: Whether it writes answers or embeds texts.
        context_tokens: The most tokens of input and output together; None where it is not known.
        output_tokens: The most tokens of output, thoughts included; None where it is not known.
        answers: How a form is asked for: as a strict JSON schema, as a JSON object with the schema beside it
            (llama.cpp's way), as any JSON object, or by the prompt alone.
        limit_parameter: What the server calls the most tokens of output.
        refuses: The sampling parameters that the server refuses, or takes and ignores.
        reasoning_fields: The fields of a message that hold thoughts and never the answer.
        concurrency: The most calls at once, 1 or more.
        timeout_seconds: How long one call may take, above 0.
        price: What it costs; None where it is not known or nothing.
    """

    name: Text
    url: Annotated[Text, AfterValidator(_address)]
    served_as: Text
    key_variable: Annotated[Text, AfterValidator(_variable)] | None = None
    kind: Literal["chat", "embeddings"] = "chat"
    context_tokens: Count | None = None
    output_tokens: Count | None = None
    answers: Literal["json_schema", "json_object_schema", "json_object", "text"] = "json_schema"
    limit_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    refuses: tuple[Text, ...] = ()
    reasoning_fields: tuple[Text, ...] = ("reasoning_content", "reasoning")
    concurrency: Count = 32
    timeout_seconds: Annotated[float, Field(strict=True, gt=0)] = 600
    price: Price | None = None


def entry_of(name: str, extra: Path | None = None) -> Entry:
    """Find a model by name, in `extra` first.

    Raises:
        BadInputError: `extra` cannot be read, or is no catalogue.
        ModelError: no catalogue knows the name.
    """
    known = entries_of(extra)
    if name not in known:
        raise ModelError(f"unknown model {name!r}; known: offline, {', '.join(sorted(known))}")
    return known[name]


def entries_of(extra: Path | None = None) -> dict[str, Entry]:
    """Return every model by name: the shipped ones, and those of `extra`, which replace a shipped one whole.

    Raises:
        BadInputError: `extra` cannot be read, or is no catalogue.
    """
    return {**_read(Path(__file__).with_suffix(".toml")), **(_read(extra) if extra else {})}


def _read(path: Path) -> dict[str, Entry]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _entry(name, table) for name, table in tables.items()}
    except OSError as error:
        raise BadInputError(f"cannot read the catalogue {path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, not TOML, or not of the form
        raise BadInputError(f"the catalogue {path} is not right: {str(error).splitlines()[0]}") from None


def _entry(name: str, table: Any) -> Entry:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}: wants a table")
    if "name" in table:
        raise ValueError(f"{name}.name: unknown key")
    try:
        return TypeAdapter(Entry).validate_python({"name": name, **table})
    except ValidationError as error:
        raise ValueError(_sentence(name, error)) from None


def _sentence(name: str, error: ValidationError) -> str:
    """Say where a table is wrong, and how, without a word of what stands there: it may be a key."""
    one = error.errors(include_input=False)[0]
    message = MESSAGES.get(one["type"]) or one["msg"].removeprefix("Value error, ")
    return f"{'.'.join(map(str, (name, *one['loc'])))}: {message}"
