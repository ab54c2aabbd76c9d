"""Logs of decisions that are still paying, made by known probabilities, from worlds whose truth is known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from tpstream import Scenario, simulate
from tpstream.model.arrays import Floats
from tpstream.model.numba_support import compiled
from tpstream.model.world import Problem
from tpstream.policies.base import Parameters, SharedPolicy
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.twin.evaluate import sure_number


class ByLotParameters(Parameters):
    """Parameters: the probability of each arm."""

    shares: tuple[float, ...] = Field(description="the probability of each arm")


class ByLotState(NamedTuple):
    """The probabilities, which never change."""

    indices: Floats
    probabilities: Floats


def init(problem: Problem, parameters: ByLotParameters) -> ByLotState:
    """The state before the first round."""
    return ByLotState(np.full(problem.arms, np.nan), np.array(parameters.shares))


@compiled
def decide(state: ByLotState, round: int, stream: np.random.Generator) -> int:  # noqa: ARG001
    """An arm by lot."""
    drawn = stream.random()
    for arm in range(state.indices.size - 1):
        drawn -= state.probabilities[arm]
        if drawn < 0:
            return arm
    return state.indices.size - 1


BY_LOT = SharedPolicy("by-lot", ByLotParameters, init, decide)
"""Fixed unequal probabilities."""
SHARES = (0.5, 0.3, 0.2)
LOGGER = PolicyChoice("by-lot", BY_LOT, ByLotParameters(shares=SHARES))
CUSTOMERS: Mapping[str, Any] = {
    "rewards": {"kind": "churn"},
    "arms": [
        {"name": "A", "churn": 0.3, "concentration": 3.0, "activity": 0.5},
        {"name": "B", "churn": 0.2, "concentration": 3.0, "activity": 0.5},
        {"name": "C", "churn": 0.1, "concentration": 3.0, "activity": 0.5},
    ],
}
"""Customers who pay until they leave; parts of one customer depend on each other."""
REFUNDS: Mapping[str, Any] = {
    "rewards": {"kind": "normal", "correlation": 0.3},
    "arms": [
        {"name": "A", "mean": 0.3, "deviation": 1.0},
        {"name": "B", "mean": [0.8] * 10 + [-0.2] * 10, "deviation": 1.0},
        {"name": "C", "mean": [0.1] * 10 + [0.9] * 10, "deviation": 1.0},
    ],
}
"""Parts of any sign: some arms pay early and are refunded later, others pay late."""


@dataclass(frozen=True)
class LoggedWorld:
    """A world in which decisions come by a Poisson process, and the share of them that is open at the end."""

    name: str
    keys: Mapping[str, Any]
    open: float
    policy: Any = None
    """Who decided: by default fixed unequal probabilities."""
    decisions: int = 2000
    span: int = 20

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario: parts come one by one, a unit of time apart."""
        rate = self.open * self.decisions / self.span
        arrivals = {"kind": "poisson", "rate": rate}
        return Scenario(name=self.name, horizon=self.decisions, span=self.span, arrivals=arrivals, **self.keys)

    @property
    def means(self) -> Floats:
        """What a decision for each arm truly pays."""
        return np.asarray(self.scenario.means)

    def logs(self, runs: int, seed: int) -> Iterator[Path]:
        """So many logs, one after the other; each is removed when the next one comes."""
        policy = LOGGER if self.policy is None else self.policy
        with TemporaryDirectory() as folder:
            path = Path(folder) / "log.arrows"
            for run in range(runs):
                simulate(self.scenario, policy, seed=seed, run=run, log=path, log_detail="probabilities", force=True)
                yield path

    def truth(self, policy: str, share: float, runs: int, seed: int) -> tuple[float, float]:
        """What a decision of a learning policy is worth on a share of the traffic, and the Monte Carlo error."""
        horizon, rate = sure_number(self.decisions, share), share * self.open * self.decisions / self.span
        thinned = self.scenario.with_(horizon=horizon, arrivals={"kind": "poisson", "rate": rate})
        values = [self.means[simulate(thinned, policy, seed=seed, run=run).arms].mean() for run in range(runs)]
        return float(np.mean(values)), float(np.std(values) / np.sqrt(runs))
