"""A policy of a user that fails in some runs."""

from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import Events
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, PythonPolicy

ROUND = 30
"""The round in which it fails."""


class Moody:
    """Pulls arms in turn, and gives up in the middle if its stream begins with a small number."""

    def __init__(self, arms: int, *, gives_up: bool) -> None:
        self._arms = arms
        self._gives_up = gives_up

    def hear(self, events: Events) -> None:
        """Whatever."""

    def decide(self, round: int) -> int:
        """One arm after the other."""
        if self._gives_up and round == ROUND:
            raise ValueError("not in the mood")
        return round % self._arms

    def indices(self) -> Floats:
        """None."""
        return np.full(self._arms, np.nan)


def create(problem: Problem, _: Any, stream: np.random.Generator) -> Moody:
    """The policy for one run."""
    return Moody(problem.arms, gives_up=stream.random() < 0.5)


def fails(seed: int, run: int) -> bool:
    """Whether it fails in this run."""
    return open_stream(seed, run, Purpose.POLICY).random() < 0.5


POLICY = PythonPolicy(name="moody", parameters=Parameters, create=create)
