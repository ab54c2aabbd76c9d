"""What bad plug-ins are made of."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tpstream.model.settings import Settings


def luck() -> float:
    """One, by way of Python's global generator."""
    return float(random.random() < 2)  # noqa: S311 (that it is used is the point)


def luck_of_numpy() -> float:
    """One, by way of NumPy's global generator."""
    return float(np.random.rand() < 2)  # noqa: NPY002 (the same)


class Kind:
    """Builds what it was given, whatever the settings."""

    settings = Settings
    arm_settings = Settings

    def __init__(self, build: Callable[..., Any]) -> None:
        self.build = build


def fail(*_: Any) -> Any:
    """What a plug-in must not do."""
    raise KeyError("lost")
