"""Settings: the keys that a kind reads from its table of a scenario, and the models of such tables."""

from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, create_model

TableType = TypeVar("TableType", bound=BaseModel)


class Settings(BaseModel):
    """Keys of a scenario: none unknown, none changed later, every number finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Table(BaseModel):
    """A table of a scenario: no unknown keys, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def join(name: str, settings: type[BaseModel], table: type[TableType], **keys: Any) -> type[TableType]:
    """A model with the keys of both; where their rules differ, those of the table hold."""
    bases: Any = (settings, table)
    return cast("type[TableType]", create_model(name, __base__=bases, **keys))


@lru_cache
def kind_table(kind: str, what: str, settings: type[BaseModel], table: type[BaseModel]) -> type[BaseModel]:
    """The model of a table that names its kind, made once; a plug-in that is loaded anew has other settings."""
    return join(class_name(kind, what), settings, table, kind=(Literal[kind], ...))


def class_name(kind: str, what: str) -> str:
    """The name of a kind's model, as editors show it."""
    return "".join(word.capitalize() for word in kind.split("-")) + what
