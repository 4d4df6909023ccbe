"""Reads the one JSON value of the right form out of what a model wrote."""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Form = TypeVar("Form", bound=BaseModel)
OPENING = re.compile(r"[{\[]")


class AnswerError(ValueError):
    """An answer without exactly one value of the right form. Its text never holds the answer's."""


def read_answer(text: str, form: type[Form]) -> Form:
    """Return the value of `form` in `text`, alone or inside prose and fences.

    Raises:
        AnswerError: there is none, or more than one: a cut or doubled answer is never patched up.
    """
    try:
        return form.model_validate(json.loads(text))
    except json.JSONDecodeError:
        values = [value for value in _values_in(text) if _fits(value, form)]
    except ValidationError as error:
        raise AnswerError(_places(error)) from None
    except RecursionError:
        raise AnswerError("nested too deeply") from None
    if len(values) != 1:
        raise AnswerError(f"{len(values) or 'no'} values of the form {form.__name__}")
    return form.model_validate(values[0])


def _values_in(text: str) -> list[Any]:
    decoder, values, start = json.JSONDecoder(), [], 0
    while opening := OPENING.search(text, start):
        try:
            value, start = decoder.raw_decode(text, opening.start())
            values.append(value)
        except (json.JSONDecodeError, RecursionError):
            start = opening.end()
    return values


def _fits(value: object, form: type[BaseModel]) -> bool:
    try:
        form.model_validate(value)
    except ValidationError:
        return False
    return True


def _places(error: ValidationError) -> str:
    """Say where an answer is wrong, and how, without a word of what it says."""
    places = [f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['type']}" for one in error.errors()]
    return "; ".join(places[:3])
