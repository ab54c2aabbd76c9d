"""The world of one run: the problem that a policy is told, how time passes, the rewards, and the random streams.

Each seed, run, purpose and arm has a random generator of its own, its stream; so no draw depends on what else is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from numbers import Integral
from typing import Any, Literal, Protocol, cast

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.errors import PolicyError, ScenarioError
from tpstream.model.interfaces import ArrivalProcess, CalendarDelay, DelayProcess, ProcessDelay, Rewards, SiteArrivals
from tpstream.model.limits import divisors_near

BLOCK = 256
"""Every engine draws the pulls of an arm in blocks of this many; another number would change all results."""


Reveal = Literal["all", "positive", "closed"]
"""What of the feedback a policy is shown:

- all: every event, at its time;
- positive: parts that pay more than 0, at their time; all other credited parts are withheld until their pull is closed,
  and repeated then. Losses, and late parts that pay nothing, are never shown;
- closed: pulls and their closings, and nothing else.

Where feedback is hidden, a pull is closed exactly when its window ends: an earlier closing would tell that nothing of
it is missing any more.
"""


class Purpose(IntEnum):
    """What a stream is for; the numbers are part of the contract of reproducibility."""

    REWARDS = 0
    DELAYS = 1
    ARRIVALS = 2
    POLICY = 3
    SERVICE = 4
    SAFETY = 5


def open_stream(seed: int, run: int, purpose: Purpose, arm: int = 0, queue: int | None = None) -> np.random.Generator:
    """Open a stream at its beginning; the same numbers always give the same stream.

    `queue` counts the queues of a scenario that has several, from 0.
    """
    key = (run, int(purpose), arm) if queue is None else (run, int(purpose), arm, queue)
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


@dataclass(frozen=True, eq=False)
class Endpoint:
    """What policies hear in a trial in which not the sum of all parts counts, low values are good, or parts get lost.

    Instead of part j that paid x they hear `scale[j] * x + shift[j]`, and at the closing the sum of what they heard.
    Logs keep what was paid.
    """

    scale: Floats
    """The weight of each part, negative where low values are good."""
    shift: Floats
    """What is added: where low values are good and parts are bounded, the weight times the largest value."""
    maxima: Floats
    """The largest sum that can be heard of a pull of each arm; NaN where there is none."""
    means: Floats
    """The expectation of that sum; NaN where it is not known."""
    signed: bool
    """Whether what is heard may be negative."""
    complete: bool = False
    """Whether drop-outs are excluded: a pull of which a part that counts did not come until its closing is not told as
    closed to those who take closings for outcomes."""

    @property
    def plain(self) -> bool:
        """Whether parts are heard as they were paid."""
        return bool((self.scale == 1).all() and (self.shift == 0).all())

    @property
    def even(self) -> bool:
        """Whether all parts have the same weight."""
        return bool((self.scale == self.scale[0]).all())


@dataclass(frozen=True, eq=False)
class Problem:
    """What a policy is told about the world before the first round.

    Parameters
    ----------
    names : tuple of str
        The names of the arms.
    maxima : array of float
        The largest cumulative reward that a pull of each arm can pay; NaN for an arm that has none.
    span : int
        How many parts a pull pays.
    horizon : int
        The number of rounds; a run may end earlier.
    groups : int or None
        The smoothness of the rewards: a pull's parts form this many equal groups, none of which pays more than
        maximum / groups; None if nothing is known.
    means : array of float or None
        The expected cumulative reward of each arm; None for a policy that does not know them.
    signed : bool
        Whether parts may be negative, such as refunds.
    reveal : str
        What of the feedback the policy is shown: "all", "positive" parts at their time and the others at the closing,
        or only "closed" pulls.
    endpoint : Endpoint or None
        What policies hear instead of the rewards, in a trial; maxima and means are those of the rewards all the same,
        and `heard` gives those of what they hear.

    Examples
    --------
    >>> problem = Problem(("low", "high"), np.array([1.0, 2.0]), span=6, horizon=100, groups=3)
    >>> problem.arms, problem.assumed_groups(None), problem.assumed_groups(2)
    (2, 3, 2)
    """

    names: tuple[str, ...]
    maxima: Floats
    span: int
    horizon: int
    groups: int | None
    means: Floats | None = None
    signed: bool = False
    reveal: Reveal = "all"
    endpoint: Endpoint | None = None

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.names)

    def heard(self) -> "Problem":
        """The problem as it is for those who hear the endpoint of a trial; the same one where that is all rewards."""
        if self.endpoint is None:
            return self
        one = self.endpoint
        groups = self.groups if one.even else None  # else groups do not pay equal shares of the maximum
        return replace(self, maxima=one.maxima, means=one.means, signed=one.signed, groups=groups)

    def without_means(self) -> "Problem":
        """The same problem for a policy that does not know the means."""
        return replace(self, means=None)

    def assumed_groups(self, groups: int | None) -> int:
        """The number of groups that a policy assumes.

        Parameters
        ----------
        groups : int or None
            The policy's parameter; None for the groups of the rewards.

        Returns
        -------
        int
            The number of groups.

        Raises
        ------
        PolicyError
            If no number is known, or it does not divide the span.
        """
        chosen = self.groups if groups is None else groups
        if chosen is None:
            raise PolicyError(
                "groups are not known for these rewards; write groups = 1 under [rewards], or a larger divisor of the "
                "span if no group ever pays more than maximum / groups, or give the policy its own (NAME:groups=1)"
            )
        if chosen < 1 or self.span % chosen:
            near = divisors_near(self.span, chosen)
            raise PolicyError(f"groups = {chosen} does not divide the span {self.span}; use one of {near}")
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
    """Some calendar delays of a scenario as one delay."""

    @property
    def delays(self) -> tuple[CalendarDelay, ...]:
        """These delays, in their order."""

    @property
    def names(self) -> tuple[str, ...]:
        """What errors call them."""

    def reported(self, times: Floats, pull: int | None = None) -> Floats:
        """When what arrives at these times is handed out; if `pull` is given, errors name it."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A delay that is applied to each part when the part gets there."""

    form: Literal["moves", "reported", "queue"]
    """What the delay is: a DrawnDelay, a CalendarDelay or a QueueDelay."""
    delay: Any
    name: str
    """What errors call it."""
    index: int
    """Its number among the later stages of its form, from 0."""


@dataclass(frozen=True, eq=False)
class Timing:
    """When decisions are due, when parts arrive, and when a pull is closed; by default as in the paper's world.

    A part passes the sampled delays in order, then the calendar, then the later stages or the process.
    """

    delays: tuple[DelayProcess, ...] = ()
    """Sampled delays that come before everything else: they are applied when a block of pulls is drawn."""
    names: tuple[str, ...] = ()
    """What errors call the sampled delays, in their order."""
    calendar: Calendar | None = None
    """The calendars that directly follow them."""
    later: tuple[Stage, ...] = ()
    """All further stages, in order: calendars, queues and sampled delays that come after one of these."""
    process: ProcessDelay | None = None
    process_name: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    """The capacities of the resources that processes share, by name."""
    opening: Mapping[str, CalendarDelay] = field(default_factory=dict)
    """The opening hours of resources that have some: serving a part begins only then, and is finished in any case."""
    visits: tuple[float, ...] = ()
    """When the parts are due after the pull; empty: 0, 1, ..., span - 1."""
    visit_spread: float = 0.0
    """Each part is due earlier or later by a random time that is less than this."""
    arrivals: ArrivalProcess = Regular()
    arrivals_name: str = "arrivals (regular)"
    window: float | None = None
    """After how long a pull is closed; None: when nothing of it is missing any more."""
    default: float | None = None
    """The reward that a part is credited with if it is missing when its pull is closed; None: no reward."""
    reveal: Reveal = "all"
    """What of the feedback is shown; if not all of it, there is a window, and pulls are closed exactly at its end."""

    @property
    def plain(self) -> bool:
        """Whether this is the paper's world: part j of the pull of round t arrives at time t + j - 1."""
        delayed = self.delays or self.visits or self.calendar is not None or self.later or self.window is not None
        return self.whole and not delayed

    @property
    def whole(self) -> bool:
        """Whether every part arrives at a whole time: regular decisions, and only delays that keep times whole."""
        later = [getattr(stage.delay, "whole", False) for stage in self.later]
        delays_keep = all(delay.whole for delay in (*self.delays, self.calendar) if delay is not None) and all(later)
        visits_are = self.visit_spread == 0 and all(float(visit).is_integer() for visit in self.visits)
        return self.arrivals.regular and self.process is None and delays_keep and visits_are

    def nominal(self, span: int) -> Floats:
        """When the parts of a pull are due after it, before any spread or delay."""
        return np.array(self.visits or range(span), dtype=np.float64)

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites at which decisions are due; empty if there are none."""
        return tuple(cast("SiteArrivals", self.arrivals).names) if hasattr(self.arrivals, "at_sites") else ()

    @property
    def queues(self) -> tuple[Stage, ...]:
        """The queues among the later stages."""
        return tuple(stage for stage in self.later if stage.form == "queue")

    @property
    def bytes_per_part(self) -> int:
        """What a part of a pull that was drawn takes in the compiled engine, and about as much where it is drawn.

        A reward; with sampled delays when it arrives and whether it is lost; for each later one how much later it comes
        and from when on it is lost; for each queue how long it is served.
        """
        sampled = bool(self.delays or self.visit_spread)
        moves = sum(stage.form == "moves" for stage in self.later)
        return 8 + 9 * sampled + 16 * moves + 8 * len(self.queues)

    @property
    def lone_queue(self) -> bool:
        """Whether there is one queue, directly after the sampled delays and the calendar.

        Its service times are drawn for the parts that are not lost only, in the order in which they arrive at it.
        """
        return len(self.queues) == 1 and self.later[0].form == "queue"


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
