"""The keys that a kind of model reads from a table of a scenario, and the pydantic models of such tables."""

from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

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


class BuiltInSettings(Settings):
    """Keys of a built-in model; the class itself is registered as the kind, since `build` is a method of it."""

    settings: ClassVar[type[BaseModel]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.settings = cls


class Table(BaseModel):
    """A table of a scenario: unknown keys are refused, and values cannot be changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# Cached by the settings and not by the kind's name alone: a plug-in that is loaded again has other settings.
@lru_cache
def table_model(kind: str, settings: type[BaseModel], table: type[TableType]) -> type[TableType]:
    """The pydantic model of a table: its own keys, and the settings that the definition of this kind reads from it.

    A table with a key `kind` must name this kind.
    """
    name = "".join(word.capitalize() for word in kind.split("-")) + table.__name__.removesuffix("Table")
    common = table.model_fields.get("kind")
    keys: dict[str, Any] = {} if common is None else {"kind": (Literal[kind], Field(description=common.description))}
    # Where the configurations of the two models differ, that of the table holds.
    bases: Any = (settings, table)
    return cast("type[TableType]", create_model(name, __base__=bases, **keys))
