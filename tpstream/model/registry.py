"""Registries: what a name in a scenario stands for. Built-ins and installed entry points; nothing is imported early."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from tpstream.model.errors import UnknownNameError


@dataclass(frozen=True)
class Registry:
    """The known names of one thing, e.g. policies, and where their definitions live."""

    what: str
    group: str
    builtin: Mapping[str, str]

    def names(self) -> list[str]:
        """Every known name, built-ins first in their own order, then installed ones."""
        installed = {point.name for point in entry_points(group=self.group)}
        return [*self.builtin, *sorted(installed - set(self.builtin))]

    def find(self, name: str) -> Any:
        """The definition of that name."""
        if name in self.builtin:
            return load_object(self.builtin[name])
        for point in entry_points(group=self.group):
            if point.name == name:
                return point.load()
        raise UnknownNameError(self.what, name, self.names())


def load_object(path: str) -> Any:
    """The object at "module:Name"."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
