"""The header of a log: everything besides the events that is needed to read, replay and judge a run."""

from functools import lru_cache
from importlib.metadata import version
from typing import Any, Literal

import msgspec
import numpy as np

from tpstream.model.problem import Problem
from tpstream.model.version import own_version

SCHEMA = 1
"""The version of the log's schema; it grows when a reader of the old one could go wrong."""
Detail = Literal["all", "pulls", "indices"]
"""What a log holds: every event, only the pulls, or every event and at each pull the policy's indices."""
PACKAGES = ("numpy", "numba", "simpy")
"""Packages whose version can change a number in a log."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was: its scenario as resolved, its policy, its randomness, and what the world's truth is."""

    schema: int = SCHEMA
    scenario: dict[str, Any]
    policy: str
    """The policy's label in the study."""
    kind: str
    """The policy's registered name."""
    parameters: dict[str, Any]
    seed: int
    run: int
    arms: list[str]
    means: list[float]
    maxima: list[float]
    span: int
    horizon: int
    groups: int | None
    clairvoyant: bool
    detail: Detail = "all"
    versions: dict[str, str]

    def problem(self) -> Problem:
        """The problem that the policy was told, and the means."""
        return Problem(
            names=tuple(self.arms),
            maxima=np.array(self.maxima),
            span=self.span,
            horizon=self.horizon,
            groups=self.groups,
            means=np.array(self.means),
        )


def package_versions() -> dict[str, str]:
    """The versions of tpstream and of the packages that its numbers depend on."""
    return dict(_versions())


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """They are read from files, and cannot change while a process lives."""
    return {"tpstream": own_version()} | {name: version(name) for name in PACKAGES}
