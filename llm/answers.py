"""Reads the one JSON value of the right form out of what a model wrote."""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Form = TypeVar("Form", bound=BaseModel)
OPENING = re.compile(r"[{\[]")
BRACKETS = re.compile(r"[{}\[\]]")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)  # some models break lines inside of texts


class AnswerError(ValueError):
    """An answer without exactly one value of the right form. Its text never holds the answer's."""


def read_answer(text: str, form: type[Form]) -> Form:
    """Return the value of `form` in `text`, alone or inside prose and fences.

    Raises:
        AnswerError: there is none, or more than one: a cut or doubled answer is never patched up.
    """
    try:
        return _read(text, form)
    except AnswerError as error:
        raise error from None  # what it came from holds the text
    except ValidationError as error:
        raise AnswerError(_places(error, form)) from None
    except RecursionError:
        raise AnswerError("nested too deeply") from None


def _read(text: str, form: type[Form]) -> Form:
    try:
        value = DECODER.decode(text)
    except ValueError:  # no JSON, or a number too long to read
        values = [value for value in _values_in(text) if _fits(value, form)]
        if len(values) != 1:
            raise AnswerError(f"{len(values) or 'no'} values of the form {form.__name__}") from None
        value = values[0]
    # An escape such as \ud83d alone makes a text that no file can hold.
    return form.model_validate(json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")))


def _values_in(text: str) -> list[Any]:
    """Return the JSON values that stand in prose; what stands between brackets that hold no JSON is none."""
    values, start = [], 0
    while opening := OPENING.search(text, start):
        try:
            value, start = DECODER.raw_decode(text, opening.start())
        except ValueError:
            start = _closed_at(text, opening.start())
        else:
            values.append(value)
    return values


def _closed_at(text: str, start: int) -> int:
    """Return where the bracket at `start` is closed.

    Raises:
        AnswerError: it never is, as in an answer that was cut.
    """
    depth = 0
    for bracket in BRACKETS.finditer(text, start):
        depth += 1 if bracket.group() in "{[" else -1
        if depth == 0:
            return bracket.end()
    raise AnswerError("a bracket is never closed")


def _fits(value: object, form: type[BaseModel]) -> bool:
    try:
        form.model_validate(value)
    except ValidationError:
        return False
    return True


def _places(error: ValidationError, form: type[BaseModel]) -> str:
    """Say where an answer is wrong, and how, without a word of what it says."""
    schema = json.dumps(form.model_json_schema())
    places = []
    for one in error.errors(include_input=False)[:3]:
        # A key that the form does not name is the answer's own.
        parts = [str(part) if isinstance(part, int) or json.dumps(part) in schema else "?" for part in one["loc"]]
        places.append(f"{'.'.join(parts) or 'answer'}: {one['type']}")
    return "; ".join(places)
