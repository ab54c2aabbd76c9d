"""Errors of a scenario in the words of its file: the place, what is wrong, the value and the remedy in one line."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from tpstream.model.errors import did_you_mean

Location = tuple[int | str, ...]
Fields = Mapping[str, FieldInfo]

LONGEST = 60
"""A value is quoted up to this many characters."""

MESSAGES = {
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table"),
    "string_type": "must be text in quotes",
}
"""What is wrong, by pydantic's type of error, with its context filled in; for other types its own message is shown."""


PATTERNS = {
    r"^[^/\\]+$": "must have no slash, since files are named after it",
    r"^[a-z0-9][a-z0-9-]{0,63}$": "must be 1 to 64 small letters, digits and hyphens, since paths begin with it",
    r"^\S{1,8}$": "must be one word of at most 8 letters, e.g. EUR",
}
"""What is wrong with a text that does not match a pattern."""


def wrong(location: Location, message: str, value: object) -> ValidationError:
    """An error of ours as one of pydantic's, so that it is reported together with those."""
    found = PydanticCustomError("wrong", "{message}", {"message": message})
    return ValidationError.from_exception_data("Scenario", [InitErrorDetails(type=found, loc=location, input=value)])


def describe_error(error: ValidationError, fields_at: Callable[[Location], Fields]) -> str:
    """All errors, a line each (see `together`); `fields_at` gives the keys of every table."""
    errors = error.errors(include_url=False)
    unknown = [one["loc"] for one in errors if one["type"] == "extra_forbidden"]
    # A mistyped key is also a missing one: the error about the unknown key is enough, and it is the telling one.
    errors = [
        one
        for one in errors
        if one["type"] != "missing" or not any(meant(location, one["loc"], fields_at) for location in unknown)
    ]
    errors.sort(key=lambda one: one["type"] != "extra_forbidden")
    places = [key_path(one["loc"]) for one in errors]
    return together(
        [
            f"{f'{place}: ' if place else ''}{sentence(one, fields_at)}"
            for place, one in zip(places, errors, strict=True)
        ]
    )


def together(faults: Sequence[str]) -> str:
    """The text of an error: one fault is one line; several have a line each, below one that says how many there are."""
    if len(faults) == 1:
        return faults[0]
    return "\n".join([f"{len(faults)} errors", *(f"  {fault}" for fault in faults)])


def meant(unknown: Location, missing: Location, fields_at: Callable[[Location], Fields]) -> bool:
    """Whether the unknown key is probably the missing one, mistyped."""
    *table, key = unknown
    nearest = did_you_mean(str(key), fields_at(tuple(table)))
    return nearest != "" and [*table] == [*missing[:-1]] and nearest == did_you_mean(str(key), [str(missing[-1])])


def key_path(location: Location) -> str:
    """The location as in arms[0].maximum; which of several forms a value has, as "(number)", is left out."""
    keys = (step for step in location if not str(step).startswith("("))
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys)
    return "".join(steps).removeprefix(".")


def sentence(error: ErrorDetails, fields_at: Callable[[Location], Fields]) -> str:
    """What is wrong, the value, and the remedy where one is known."""
    *table, key = error["loc"] or ("",)  # a rule about several keys has no key of its own
    match error["type"]:
        case "extra_forbidden":
            fields = fields_at(tuple(table))
            known = f"; known: {', '.join(fields)}" if fields else "; remove it"
            return f"unknown key{did_you_mean(str(key), fields) or known}"
        case "missing":
            field = fields_at(tuple(table)).get(str(key))
            meaning = field and field.description
            return f"missing; add {key}{f' ({meaning})' if meaning else ''}"
        case "value_error":
            return str(error["ctx"]["error"])
        case "wrong":
            return error["msg"]
        case "string_too_short" if error["ctx"]["min_length"] == 1:
            return f"must not be empty, got {quote(error['input'])}"
        case kind:
            context = {name: _bound(value) for name, value in error.get("ctx", {}).items()}
            message = MESSAGES[kind].format(**context) if kind in MESSAGES else error["msg"]
            message = PATTERNS.get(context.get("pattern", ""), message)
            return f"{message}, got {quote(error['input'])}{remedy(error)}"


def _bound(value: Any) -> Any:
    """A bound of a number, without a fraction if it is whole."""
    return f"{value:g}" if isinstance(value, float) else value


def remedy(error: ErrorDetails) -> str:
    """What to write instead, where it is known."""
    kind, value = error["type"], error["input"]
    if kind == "literal_error":
        return did_you_mean(str(value), re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    if kind.startswith("int") and isinstance(value, float) and value.is_integer():
        return f"; write {int(value)}"
    return ""


def quote(value: object) -> str:
    """The value as far as it fits into a line."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    if len(text) <= LONGEST:
        return text
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{len(value)} values"
    return f"{text[:LONGEST]}..."
