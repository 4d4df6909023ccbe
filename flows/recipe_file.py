"""Reads and writes recipes as TOML, and changes single knobs of one."""

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from flows.recipe import Recipe
from warehouse import BadInputError


def read_recipe(path: Path | None, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe file, or the default recipe, and apply `a.b=value` changes to it.

    Raises:
        BadInputError: no such file, no TOML, an unknown key or a value out of range; it names the key.
    """
    where = str(path) if path and not changes else "the recipe"
    try:
        made = tomllib.loads(path.read_text(encoding="utf-8")) if path else {}
    except OSError as error:
        raise BadInputError(f"cannot read the recipe {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} is no TOML: {error}") from None
    for change in changes:
        _apply(made, change)
    try:
        return Recipe.model_validate(made)
    except ValidationError as error:
        raise BadInputError(f"{where}: {_sentence(error)}") from None


def _apply(made: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    *tables, last = key.strip().split(".")
    if not equals or not all([*tables, last]):
        raise BadInputError(f"--set wants a.b=value, not {change!r}")
    try:
        given = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        given = {}
    value = given["value"] if len(given) == 1 else text  # a bare word is a text
    for table in tables:
        made = made.setdefault(table, {})
        if not isinstance(made, dict):
            raise BadInputError(f"--set {key}: {table} is no table")
    made[last] = value


def _sentence(error: ValidationError) -> str:
    one = error.errors()[0]
    key = ".".join(map(str, one["loc"]))
    if one["type"] == "extra_forbidden":
        return f"unknown key {key}{_suggestion(one['loc'])}"
    message = one["msg"].removeprefix("Value error, ")
    return f"{key}: {message}" if key else message


def _suggestion(place: Sequence[int | str]) -> str:
    part: Any = Recipe
    for name in place[:-1]:
        part = part.model_fields[name].annotation
    names = list(part.model_fields)
    close = difflib.get_close_matches(str(place[-1]), names, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(names)}"


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as TOML, every knob written out but caps that are not set."""
    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))
