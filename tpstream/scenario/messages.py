"""Complaints: what is wrong with a scenario, in the words of its file instead of those of the validator."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from tpstream.model.errors import ScenarioError, TpstreamError, did_you_mean

Location = tuple[int | str, ...]
Fields = Mapping[str, FieldInfo]

LONGEST = 60
"""A value is quoted up to this many characters."""

PHRASES = (
    (r"^Value error, ", ""),
    (r"^Input should be ", "must be "),
    (r"greater than or equal to", "at least"),
    (r"less than or equal to", "at most"),
    (r"a valid integer.*", "a whole number"),
    (r"a valid number.*", "a number"),
    (r"a valid string", "text in quotes"),
    (r"a valid boolean", "true or false"),
    (r"a valid (array|list|tuple)", "a list"),
    (r"a valid (dictionary|object).*", "a table"),
    (r"^String should have at least 1 character$", "must not be empty"),
)
"""From the validator's words to ours."""


@contextmanager
def blamed(who: str) -> Iterator[None]:
    """What a plug-in raises inside is told with its name, as in "delays[0].kind: 'mine'"."""
    try:
        yield
    except TpstreamError:
        raise
    except Exception as error:
        raise ScenarioError(f"{who} raised {type(error).__name__}: {error}") from error


def wrong(location: Location, message: str, value: object) -> ValidationError:
    """An error of ours that joins those of the validator."""
    complaint = PydanticCustomError("wrong", "{message}", {"message": message})
    return ValidationError.from_exception_data(
        "Scenario", [InitErrorDetails(type=complaint, loc=location, input=value)]
    )


def describe_error(error: ValidationError, fields_at: Callable[[Location], Fields]) -> str:
    """One line about the first error, with the number of the others; `fields_at` knows the keys of every table."""
    errors = error.errors(include_url=False)
    unknown = [one["loc"] for one in errors if one["type"] == "extra_forbidden"]
    # A mistyped key is also a missing one: one complaint about it is enough, and it is the telling one.
    errors = [
        one
        for one in errors
        if one["type"] != "missing" or not any(meant(location, one["loc"], fields_at) for location in unknown)
    ]
    errors.sort(key=lambda one: one["type"] != "extra_forbidden")
    others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    place = key_path(errors[0]["loc"])
    return f"{place}: {sentence(errors[0], fields_at)}{others}" if place else sentence(errors[0], fields_at) + others


def meant(unknown: Location, missing: Location, fields_at: Callable[[Location], Fields]) -> bool:
    """Whether the unknown key is probably the missing one, mistyped."""
    *table, key = unknown
    nearest = did_you_mean(str(key), fields_at(tuple(table)))
    return nearest != "" and [*table] == [*missing[:-1]] and nearest == did_you_mean(str(key), [str(missing[-1])])


def key_path(location: Location) -> str:
    """The location as in arms[0].maximum."""
    pieces = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(pieces).removeprefix(".")


def sentence(error: ErrorDetails, fields_at: Callable[[Location], Fields]) -> str:
    """What is wrong, the value, and the remedy where one is known."""
    *table, key = error["loc"] or ("",)  # a rule about several keys is about none
    match error["type"]:
        case "extra_forbidden":
            fields = fields_at(tuple(table))
            known = f"; known: {', '.join(fields)}" if fields else "; remove it"
            return f"unknown key{did_you_mean(str(key), fields) or known}"
        case "missing":
            field = fields_at(tuple(table)).get(str(key))
            meaning = field and field.description
            return f"missing; add {key}{f' ({meaning})' if meaning else ''}"
        case "wrong":
            return error["msg"]
        case kind:
            message = error["msg"]
            for pattern, phrase in PHRASES:
                message = re.sub(pattern, phrase, message)
            return message if kind == "value_error" else f"{message}, got {quote(error['input'])}{remedy(error)}"


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
