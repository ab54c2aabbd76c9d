"""What another policy earns in the twin of a log: a model's answer, to stand beside the estimates of an evaluation.

A fixed allocation earns the means of the twin's arms, weighted by its probabilities. A policy that learns is run in the
twin with all of the log's traffic. Neither has an interval: how far the twin is from the world is not in its numbers.
"""

from dataclasses import dataclass

import numpy as np

from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.errors import TpstreamError
from tpstream.run.simulate import simulate
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.twin.fit import fit

FEWEST_RUNS, MOST_RUNS = 2, 10
"""Runs of a policy that learns, which are averaged."""
DECISIONS = 200_000
"""Decisions that are simulated in all, unless the fewest runs have more."""


@dataclass(frozen=True)
class TwinAnswer:
    """What a decision pays in the twin.

    Parameters
    ----------
    value
        On average; None if no twin can be made.
    error
        The standard error of the runs' mean, which says nothing about how good the twin is; None without runs.
    difference
        The value minus what the arms of the log's own decisions pay in the twin.
    runs
        The number of runs; 0 for a fixed allocation, which needs none.
    reason
        Why there is no value; None if there is one.
    """

    value: float | None
    error: float | None
    difference: float | None
    runs: int
    reason: str | None

    def note(self, label: str) -> str:
        """What the value is, in a sentence."""
        if self.value is None:
            return f"the twin has no answer: {self.reason}"
        model = "rests on a world fitted to the log, in which what an arm pays depends on nothing else"
        ran = f", from {self.runs} runs of {label} with all of the traffic" if self.runs else ""
        return (
            f"the twin's answer {model}{ran}; it has no interval, and `tpstream fit` says how much it is like the log"
        )


def twin_answer(log: Log, arm: Ints, policy: PolicyChoice | Floats, seed: int) -> TwinAnswer:
    """The answer for a policy that learns, or for the probabilities of the arms; `arm` are those of the decisions."""
    try:
        twin = fit(log, seed=seed)  # its files are there as long as it is
        scenario = twin.scenario
        means = np.asarray(scenario.means)
        if isinstance(policy, PolicyChoice):
            values = _run_means(scenario, policy, means, seed)
            value, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
        else:
            values, value, error = np.empty(0), float(policy @ means), None
    except TpstreamError as fault:
        return TwinAnswer(None, None, None, 0, str(fault))
    own = float(np.bincount(arm, minlength=len(means)) @ means) / len(arm)
    return TwinAnswer(value, error, value - own, len(values), None)


def _run_means(scenario: Scenario, policy: PolicyChoice, means: Floats, seed: int) -> Floats:
    """Of every run: what the arms that were taken pay on average."""
    runs = int(np.clip(DECISIONS // scenario.horizon, FEWEST_RUNS, MOST_RUNS))
    return np.array([means[simulate(scenario, policy, seed=seed, run=run).arms].mean() for run in range(runs)])
