"""The keys that a kind of model reads from a table of a scenario, and the pydantic models of such tables."""

from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, create_model

TableType = TypeVar("TableType", bound=BaseModel)


class Settings(BaseModel):
    """Keys of a scenario: unknown ones are refused, none changes later, every number is finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class BuiltInSettings(Settings):
    """Keys of a built-in model; the class itself is registered as the kind, since `build` is a method of it."""

    settings: ClassVar[type[BaseModel]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.settings = cls


class Table(BaseModel):
    """A table of a scenario: unknown keys are refused, and nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# Cached by the settings and not by the kind's name alone: a plug-in that is loaded again has other settings.
@lru_cache
def table_model(kind: str, settings: type[BaseModel], table: type[TableType]) -> type[TableType]:
    """The pydantic model of a table: its own keys, and the settings that the definition of this kind reads from it.

    A table with a key `kind` must name this kind.
    """
    name = "".join(word.capitalize() for word in kind.split("-")) + table.__name__.removesuffix("Table")
    keys: dict[str, Any] = {"kind": (Literal[kind], ...)} if "kind" in table.model_fields else {}
    # Where the configurations of the two models differ, that of the table holds.
    bases: Any = (settings, table)
    return cast("type[TableType]", create_model(name, __base__=bases, **keys))
