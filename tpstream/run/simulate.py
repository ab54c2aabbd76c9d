"""One run of one policy: `simulate`, and what it returns."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd

from tpstream.analysis.regret import regret_by_round
from tpstream.engines.draws import Draws
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Floats, Ints
from tpstream.model.notes import logger
from tpstream.policies.base import PolicyForm
from tpstream.run.loop import start_run
from tpstream.run.options import RunKeywords, RunOptions, run_options
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a scenario under a policy, as `simulate` returns it.

    Attributes
    ----------
    scenario, choice, seed, run
        What was run: the scenario, the policy with its parameters, the seed and the number of the run.
    arms
        The arm of every round, counted from 0.
    seconds
        How long the run took.
    log
        The file that holds the events, if one was asked for.
    """

    scenario: Scenario
    choice: PolicyChoice
    seed: int
    run: int
    arms: Ints
    seconds: float
    log: Path | None

    @cached_property
    def regret(self) -> Floats:
        """The cumulative pseudo-regret after every round."""
        return regret_by_round(self.arms, self.scenario.means)

    def events(self) -> pd.DataFrame:
        """Every event of the run, a row each; the run is repeated to get them, which gives the same events."""
        sink = MemorySink()
        _run_alone(self.scenario, self.choice, self.seed, self.run, RunOptions(sinks=(sink,)))
        return sink.frame()


def simulate(
    scenario: Scenario,
    policy: str | PolicyForm | PolicyChoice,
    *,
    seed: int | None = None,
    run: int = 0,
    log: str | Path | None = None,
    **options: Unpack[RunKeywords],
) -> Run:
    """Run a scenario once under a policy.

    Parameters
    ----------
    scenario
        The world, as `Scenario.load` gives it.
    policy
        The name of a policy, as in "tp-ucb-fr" or "tp-ucb-fr:groups=50", or a policy object.
    seed
        Where all random numbers come from; by default the scenario's seed.
    run
        The number of the run: runs of one seed have different random numbers, and the same ones under every policy.
    log
        The file that records every event: JSON lines (`.jsonl`) or compressed columns (`.arrows`).
    **options
        engine
            "compiled", "simpy", or "auto" (the default): compiled where that is possible.
        log_format
            The format of the log if its ending does not tell: "jsonl" or "arrow".
        log_detail
            "all" (the default), "indices" (and the policy's index of every arm at each pull) or "pulls": nothing but
            the decisions, which is enough for regret and not for a replay.
        force
            Overwrite a log that is there already.
        sinks
            Who else hears every event: objects with a method `hear`, which are entered and left if they are context
            managers, or names of plug-ins as in "lines:to=stdout".
        progress
            A function that is called from time to time with the number of rounds done since the last call.
        debug
            Run the policy's compiled functions as ordinary Python, with every index of an array checked; it decides
            the same, slowly, and an error names the file, the line, the expression and the round.

    Returns
    -------
    Run
        The decisions; the regret and the events follow from them.

    Raises
    ------
    TpstreamError
        If the policy or a plug-in fails, the engine cannot serve the scenario, or the log cannot be written.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> run = simulate(Scenario.load("setting-1").with_(horizon=200), "tp-ucb-fr", seed=7)
    >>> len(run.arms), bool(run.regret[-1] > 0)
    (200, True)
    """
    asked = run_options(log, **options)
    choice = policy if isinstance(policy, PolicyChoice) else scenario.policy(policy)
    seed = scenario.seed if seed is None else seed
    notes = logger(scenario=scenario.name, policy=choice.label, seed=seed, run=run)
    notes.debug("run started", horizon=scenario.horizon, engine=asked.engine)
    began = time.perf_counter()
    arms = _run_alone(scenario, choice, seed, run, asked)
    seconds = time.perf_counter() - began
    path = None if asked.log is None else asked.log.place
    notes.debug("run ended", seconds=round(seconds, 3), log=None if path is None else str(path))
    return Run(scenario, choice, seed, run, arms, seconds, path)


def _run_alone(scenario: Scenario, choice: PolicyChoice, seed: int, run: int, options: RunOptions) -> Ints:
    """Run one policy and return the arm of every round."""
    path = None if options.log is None else options.log.place
    batches = []
    with ExitStack() as stack:
        draws = Draws(scenario.build_world(seed, run))
        for arms in start_run(draws, scenario, choice, options, path, stack):
            batches.append(arms)
            if options.progress is not None:
                options.progress(len(arms))
    return np.concatenate(batches)
