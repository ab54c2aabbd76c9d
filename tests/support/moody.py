"""A user-written policy that fails in some runs."""

from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import Events
from tpstream.model.world import Problem, Purpose, open_stream
from tpstream.policies.base import Parameters, PythonPolicy

ROUND = 30
"""The round in which it fails."""


class Moody:
    """Pulls the arms in turn, and raises an error in round 30 if its first random number is below one half."""

    def __init__(self, arms: int, *, gives_up: bool) -> None:
        self._arms = arms
        self._gives_up = gives_up

    def hear(self, events: Events) -> None:
        """Events are ignored."""

    def decide(self, round: int) -> int:
        """The next arm, or the error."""
        if self._gives_up and round == ROUND:
            raise ValueError("not in the mood")
        return round % self._arms

    def indices(self) -> Floats:
        """The policy has no indices."""
        return np.full(self._arms, np.nan)


def create(problem: Problem, _: Any, stream: np.random.Generator) -> Moody:
    """The policy for one run."""
    return Moody(problem.arms, gives_up=stream.random() < 0.5)


def fails(seed: int, run: int) -> bool:
    """Whether it fails in this run."""
    return open_stream(seed, run, Purpose.POLICY).random() < 0.5


POLICY = PythonPolicy(name="moody", parameters=Parameters, create=create)
