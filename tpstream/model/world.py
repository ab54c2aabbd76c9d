"""The world of one run: all that an engine needs besides a policy."""

from dataclasses import dataclass, field

from tpstream.model.problem import Problem
from tpstream.model.protocols import Rewards
from tpstream.model.timing import Timing


@dataclass(frozen=True, eq=False)
class World:
    """A problem with its rewards, the seed and the number of the run."""

    problem: Problem
    rewards: Rewards
    seed: int
    run: int
    drain: bool
    timing: Timing = field(default_factory=Timing)
