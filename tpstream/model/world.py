"""The problem: what a policy is told about the world before the first round.

Timing: when decisions are due, when parts arrive, and how long they are waited for.

The world of one run: all that an engine needs besides a policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Protocol

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.interfaces import ArrivalProcess, CalendarDelay, DelayProcess, ProcessDelay, Rewards


@dataclass(frozen=True, eq=False)
class Problem:
    """Arms, span and horizon; `means` is None unless a policy is entitled to them."""

    names: tuple[str, ...]
    maxima: Floats
    span: int
    horizon: int
    groups: int | None
    means: Floats | None = None

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.names)

    def without_means(self) -> "Problem":
        """The problem as an ordinary policy sees it."""
        return replace(self, means=None)

    def assumed_groups(self, groups: int | None) -> int:
        """The number of groups a policy works with: its own, else the environment's."""
        chosen = self.groups if groups is None else groups
        if chosen is None:
            raise PolicyError("groups are not known for these rewards; give the policy its own, e.g. groups = 1")
        if chosen < 1 or self.span % chosen:
            divisors = [divisor for divisor in range(1, self.span + 1) if self.span % divisor == 0]
            raise PolicyError(
                f"groups = {chosen} does not divide the span {self.span}; use one of {', '.join(map(str, divisors))}"
            )
        return chosen


@dataclass(frozen=True)
class Regular:
    """Decisions at equal distances; at distance 1 round t is at time t, as in the paper's world."""

    every: float = 1.0

    @property
    def regular(self) -> bool:
        """Whether round t is at time t."""
        return self.every == 1

    def times(self, stream: np.random.Generator, horizon: int) -> Floats:  # noqa: ARG002 (the protocol's)
        """The times of all decisions: every, 2 every, ..."""
        return self.every * np.arange(1, horizon + 1, dtype=np.float64)


class Calendar(CalendarDelay, Protocol):
    """The calendar delays of a scenario, as one that knows for errors whose times it is asked about."""

    def reported(self, times: Floats, pull: int | None = None) -> Floats:
        """When what arrives at these times is handed out; with `pull` they are those of its parts."""


@dataclass(frozen=True, eq=False)
class Timing:
    """What a scenario says about time; by default the paper's world.

    A part's way leads through the sampled delays in order, then the calendar, then the process.
    """

    delays: tuple[DelayProcess, ...] = ()
    names: tuple[str, ...] = ()
    """What errors call the sampled delays, in their order."""
    calendar: Calendar | None = None
    process: ProcessDelay | None = None
    process_name: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    """Capacities of what process delays share."""
    arrivals: ArrivalProcess = Regular()
    arrivals_name: str = "arrivals (regular)"
    window: float | None = None
    """How long a pull is waited for; None: until nothing of it is missing."""
    default: float | None = None
    """What a part that is missing when its pull is closed counts as; None: nothing is put in its place."""

    @property
    def plain(self) -> bool:
        """Whether this is the paper's world: part j of the pull of round t arrives at time t + j - 1."""
        return self.whole and not self.delays and self.calendar is None and self.window is None

    @property
    def whole(self) -> bool:
        """Whether every part arrives at a whole time: regular decisions, and only delays that keep times whole."""
        delays_keep = all(delay.whole for delay in (*self.delays, self.calendar) if delay is not None)
        return self.arrivals.regular and self.process is None and delays_keep


@dataclass(frozen=True, eq=False)
class World:
    """A problem with its rewards, the seed and the number of the run."""

    problem: Problem
    rewards: Rewards
    seed: int
    run: int
    drain: bool
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        for name, number in (("seed", self.seed), ("run", self.run)):
            if not isinstance(number, Integral) or number < 0:
                raise ScenarioError(f"{name}: must be a whole number of at least 0, got {number!r}")
