"""Pydantic models of the tables of a scenario, and of the keys that each kind of model reads from its table."""

from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, create_model

TableType = TypeVar("TableType", bound=BaseModel)


class Settings(BaseModel):
    """The base class of the keys that a reward model, delay, arrival process or sink reads from a scenario.

    Unknown keys are refused, numbers must be finite, and values cannot be changed later. The first line of a subclass's
    docstring is what `tpstream list` shows.

    Raises
    ------
    pydantic.ValidationError
        If a value is not allowed or a key is unknown.

    Examples
    --------
    >>> class PostOfficeSettings(Settings):
    ...     days: float = 2.0
    >>> PostOfficeSettings(days=3).days
    3.0
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Table(BaseModel):
    """A table of a scenario: unknown keys are refused, and values cannot be changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def join(name: str, settings: type[BaseModel], table: type[TableType], **keys: Any) -> type[TableType]:
    """A model with the keys of both, and further keys; where their rules differ, those of the table hold."""
    bases: Any = (settings, table)
    return cast("type[TableType]", create_model(name, __base__=bases, **keys))


@lru_cache
def kind_table(kind: str, what: str, settings: type[BaseModel], table: type[BaseModel]) -> type[BaseModel]:
    """The model of a table with this kind; made once for each class of settings."""
    return join(class_name(kind, what), settings, table, kind=(Literal[kind], ...))


def class_name(kind: str, what: str) -> str:
    """The name of a kind's model, as in the JSON schema."""
    return "".join(word.capitalize() for word in kind.split("-")) + what
