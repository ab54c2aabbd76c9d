"""One run of one policy: `simulate`, and what it returns."""

import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from tpstream.analysis.intervals import t_interval
from tpstream.analysis.regret import checkpoints, no_best_arm, regret_by_round
from tpstream.engines.draws import Draws
from tpstream.figures.style import policy_colours, regret_figure
from tpstream.log.sinks import MemorySink
from tpstream.model.arrays import Arms, Floats
from tpstream.model.display import Curve, Displayed, Summary, counted, number_text
from tpstream.model.errors import StudyError
from tpstream.model.notes import logger
from tpstream.run.cost import Work, check_cost, estimate
from tpstream.run.loop import RunStopped, start_run
from tpstream.run.options import RunKeywords, RunOptions, is_small, run_options
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.scenario.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Run(Displayed):
    """One run of a scenario under a policy, as `simulate` returns it.

    Attributes
    ----------
    scenario, choice, seed, run
        What was run: the scenario, the policy with its parameters, the seed and the number of the run.
    arms
        The arm of every round, counted from 0, in the smallest type that holds them (`int8` up to 128 arms): a run of
        10^7 rounds takes 10 MB. Where numbers beyond that type are computed from it, use `run.arms.astype(int)`.
    seconds
        How long the run took.
    log
        The file that holds the events, if one was asked for.
    """

    scenario: Scenario
    choice: PolicyChoice
    seed: int
    run: int
    arms: Arms
    seconds: float
    log: Path | None

    @cached_property
    def regret(self) -> Floats:
        """The cumulative pseudo-regret after every round."""
        return regret_by_round(self.arms, self.scenario.means)

    def frame(self) -> "pd.DataFrame":
        """The run as a DataFrame, a row for each round: `round`, `arm` (from 0), and `regret` up to this round."""
        import pandas as pd  # noqa: PLC0415 (slow to load, and a run alone needs no tables)

        return pd.DataFrame({"round": np.arange(1, len(self.arms) + 1), "arm": self.arms, "regret": self.regret})

    def events(self) -> "pd.DataFrame":
        """Every event of the run, a row each; the run is repeated to get them, which gives the same events."""
        sink = MemorySink()
        _run_alone(self.scenario, self.choice, self.seed, self.run, RunOptions(sinks=(sink,)))
        return sink.frame()

    def plot(
        self,
        path: str | Path | None = None,
        *,
        ax: "Axes | None" = None,
        log_y: bool = False,
        labels: Mapping[str, str] | None = None,
        log_rounds: bool = False,
    ) -> "Figure":
        """Draw regret over rounds.

        Parameters
        ----------
        path
            Where to write the figure: PNG, SVG or PDF by its ending. By default nothing is written.
        ax
            Matplotlib axes to draw on; by default a new figure is made.
        log_y, log_rounds
            Whether the axis of regret, or that of rounds, is logarithmic.
        labels
            Another name for the policy, by its label.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.
        """
        rounds, label = checkpoints(len(self.arms)), self.choice.label
        curves = {label: t_interval(self.regret[np.newaxis, rounds - 1])}
        title = f"{self.scenario.name}: {label}, seed {self.seed}, run {self.run}"
        units: dict[str, Any] = {"round_title": self.scenario.round_title, "currency": self.scenario.money}
        return regret_figure(
            path, title, rounds, curves, ax=ax, log_y=log_y, labels=labels, log_rounds=log_rounds, **units
        )

    def _summary(self) -> Summary:
        scenario, label = self.scenario, self.choice.label
        pulls = np.bincount(self.arms, minlength=len(scenario.arms))
        rows = [
            {
                "arm": scenario.arms[arm].name,
                "mean": number_text(scenario.means[arm]),
                "pulls": f"{pulls[arm]:,}",
                "share": f"{pulls[arm] / len(self.arms):.1%}",
            }
            for arm in np.argsort(-pulls, kind="stable")
        ]
        facts = [f"regret {number_text(self.regret[-1])}", f"{self.seconds:.2g} s", f"seed {self.seed}"]
        facts += [f"run {self.run}"] + ([] if self.log is None else [f"log {self.log}"])
        tied = no_best_arm([arm.name for arm in scenario.arms], scenario.means)
        return Summary(
            f"Run of {scenario.name} under {label}: {counted(len(self.arms), 'round')}",
            facts,
            rows,
            [] if tied is None else [tied],
            {label: Curve(np.arange(1, len(self.arms) + 1), self.regret, policy_colours([label])[label])},
            ("round", "pseudo-regret"),
        )


def simulate(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policy: PolicySpec | PolicyChoice,
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
        The world: a `Scenario`, a scenario file, the name of one that ships, or a dictionary of its keys.
    policy
        The name of a policy, as in "tp-ucb-fr" or "tp-ucb-fr:groups=50", a dictionary as in
        `{"kind": "tp-ucb-fr", "groups": 50}`, or a policy object.
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
            "all" (the default), "pulls" (nothing but the decisions, which is enough for regret and not for a replay),
            "indices" (all events, and the policy's index of every arm at each pull) or "probabilities" (all events, and
            the probability of every arm and of the chosen one at each pull, where the policy knows them); a set such
            as {"indices", "probabilities"} for both.
        force
            Overwrite a log that is there already.
        sinks
            Who else hears every event: objects with a method `hear`, which are entered and left if they are context
            managers, or names of plug-ins as in "lines:to=stdout".
        progress
            A function that is called from time to time with the number of rounds done since the last call.
        yes
            Go on although an estimate says that memory, disk or time do not suffice.
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
    scenario = Scenario.load(scenario)
    asked = run_options(log, **options)
    if asked.timeout is not None:
        raise StudyError("timeout: a single run is done in this process, which cannot end itself; use compare")
    choice = policy if isinstance(policy, PolicyChoice) else scenario.policy(policy)
    if not is_small([(scenario, 1)]):
        check_cost(estimate([Work(scenario, [choice], 0)], 1, 1, asked, compiled=asked.engine != "simpy"), asked)
    seed = scenario.seed if seed is None else seed
    notes = logger(scenario=scenario.name, policy=choice.label, seed=seed, run=run)
    notes.debug("run started", horizon=scenario.horizon, engine=asked.engine)
    began = time.perf_counter()
    arms = _run_alone(scenario, choice, seed, run, asked)
    seconds = time.perf_counter() - began
    path = None if asked.log is None else asked.log.place
    notes.debug("run ended", seconds=round(seconds, 3), log=None if path is None else str(path))
    return Run(scenario, choice, seed, run, arms, seconds, path)


def _run_alone(scenario: Scenario, choice: PolicyChoice, seed: int, run: int, options: RunOptions) -> Arms:
    """Run one policy and return the arm of every round."""
    path = None if options.log is None else options.log.place
    decided: Arms = np.empty(scenario.horizon, dtype=np.min_scalar_type(-len(scenario.arms)))
    done = 0
    with suppress(RunStopped), ExitStack() as stack:
        draws = Draws(scenario.build_world(seed, run))
        started = start_run(draws, scenario, choice, options, path, stack)
        for arms in started.batches:
            decided[done : done + len(arms)] = arms
            done += len(arms)
            if started.watched is not None:
                started.watched.add(arms)
            if options.progress is not None:
                options.progress(len(arms))
            if options.live is not None and options.live.stopped():
                raise RunStopped([], np.zeros(0, dtype=np.int64))  # so that the log has no end
        if started.watched is not None:
            started.watched.finish()
    return decided[:done]
