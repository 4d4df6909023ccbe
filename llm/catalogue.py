"""The models that can be named: where each is served, and as what."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from llm.errors import ModelError
from warehouse import BadInputError


class _Address(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    served_as: str
    key_variable: str | None = None


@dataclass(frozen=True)
class Entry:
    """One model: its name in recipes, its address, and the name that the server knows it by."""

    name: str
    url: str
    served_as: str
    key_variable: str | None = None


def entry_of(name: str, extra: Path | None = None) -> Entry:
    """Find a model by name, in `extra` first.

    Raises:
        BadInputError: `extra` cannot be read.
        ModelError: no catalogue knows the name.
    """
    known = {**_read(Path(__file__).with_suffix(".toml")), **(_read(extra) if extra else {})}
    if name not in known:
        raise ModelError(f"unknown model {name!r}; known: offline, {', '.join(sorted(known))}")
    return Entry(name, **known[name].model_dump())


def _read(path: Path) -> Mapping[str, _Address]:
    try:
        text = path.read_text(encoding="utf-8")
        return TypeAdapter(dict[str, _Address]).validate_python(tomllib.loads(text))
    except OSError as error:
        raise BadInputError(f"cannot read the catalogue {path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, not TOML, or not of the form
        raise BadInputError(f"the catalogue {path} is not right: {str(error).splitlines()[0]}") from None
