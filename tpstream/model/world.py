"""The world of one run: all that an engine needs besides a policy."""

from dataclasses import dataclass, field
from numbers import Integral

from tpstream.model.errors import ScenarioError
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

    def __post_init__(self) -> None:
        for name, number in (("seed", self.seed), ("run", self.run)):
            if not isinstance(number, Integral) or number < 0:
                raise ScenarioError(f"{name}: must be a whole number of at least 0, got {number!r}")
