"""Registries: which policy, reward model, delay, ... a name in a scenario stands for, and which keys its table has.

Names are of built-ins, of installed plug-ins, or of plug-in files that the user loaded. A definition is imported when
its name is first asked for, and no other code is ever imported because of a name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, Field, create_model

from tpstream.model.errors import USER_RAISES, PluginError, UnknownNameError
from tpstream.model.settings import Settings

TableType = TypeVar("TableType", bound=BaseModel)

MODELS = ("settings", "arm_settings", "parameters")
"""Attributes of a definition that are pydantic models."""
OWN = "if it is your own, name its file with --plugin (load_plugin in Python)"
"""The remedy for a name that may be that of a plug-in file which was not loaded."""


@dataclass(frozen=True, eq=False)
class Registry:
    """The known names of one section, such as policies, and where their definitions are."""

    what: str
    group: str
    builtin: Mapping[str, str]
    needs: tuple[str, ...]
    """Attributes that a definition must have; a `name` must be the one under which it is registered."""
    added: dict[str, Any] = field(default_factory=dict)
    """Definitions from plug-in files, for the rest of this process."""

    def names(self) -> list[str]:
        """Every known name: the built-ins in their order, then the plug-ins in alphabetical order."""
        others = {point.name for point in installed(self.group)} | self.added.keys()
        return [*self.builtin, *sorted(others - self.builtin.keys())]

    def find(self, name: str) -> Any:
        """The definition of that name."""
        points = [point for point in installed(self.group) if point.name == name]
        owners = [owner_of(point) for point in points]
        if name in self.builtin:
            owners.insert(0, "tpstream itself")
        elif name in self.added:
            return self.added[name]
        if len(owners) > 1:
            raise PluginError(f"{self.what} {name!r} is defined by {' and by '.join(owners)}; uninstall one of them")
        if name in self.builtin:
            return load_object(self.builtin[name])
        if points:
            return self._load(points[0])
        raise self.unknown(name)

    def unknown(self, name: str, others: Iterable[str] = ()) -> UnknownNameError:
        """The error for a name that is not known; `others` are names besides these that would be understood."""
        remedy = "" if self.added else OWN
        return UnknownNameError(self.what, name, {*self.names(), *others}, remedy)

    def obstacle(self, name: str, definition: object) -> str | None:
        """Why the definition cannot be used under that name, with the remedy; None if it can."""
        if isinstance(definition, type):
            return f"is the class {definition.__name__}; give an instance, as in {definition.__name__}()"
        missing = [need for need in self.needs if not hasattr(definition, need)]
        if missing:
            return f"is a {type(definition).__name__} without {' and '.join(missing)}; a {self.what} needs them"
        for need in set(self.needs) & set(MODELS):
            model = getattr(definition, need)
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                return f"has {need} that are no pydantic model but {model!r}; give a class of settings"
        if "name" in self.needs and definition.name != name:  # type: ignore[attr-defined]
            return f"calls itself {definition.name!r}; give it the same name in both places"  # type: ignore[attr-defined]
        return None

    def _load(self, point: EntryPoint) -> Any:
        """The definition of an installed plug-in, checked."""
        where = f"{self.what} {point.name!r} of {owner_of(point)}"
        try:
            definition = point.load()
        except USER_RAISES as error:
            raise PluginError(
                f"{where}: loading {point.value} raised {type(error).__name__}: {error}; mend or uninstall it"
            ) from error
        reason = self.obstacle(point.name, definition)
        if reason:
            raise PluginError(f"{where}: {point.value} {reason}")
        return definition


@lru_cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group; looked up once, since that reads the metadata of every installed package."""
    return tuple(entry_points(group=group))


def owner_of(point: EntryPoint) -> str:
    """The installed package that an entry point belongs to."""
    return f"the package {point.dist.name}" if point.dist else "an installed package"


def load_object(path: str) -> Any:
    """The object at "module:Name"."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


class BuiltInSettings(Settings):
    """Keys of a built-in model; the class itself is registered as the kind, since `build` is a method of it."""

    settings: ClassVar[type[BaseModel]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.settings = cls


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
