"""Trials from the logs of their runs, or from the measures of a study's runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.logs import WorldLogs, gather, logged_currency
from tpstream.analysis.regret import PullCounts
from tpstream.experiment.result import Study
from tpstream.experiment.runs import TrialSummary
from tpstream.log.reader import Log
from tpstream.looks.design import Design
from tpstream.model.errors import LogError
from tpstream.model.events import Kind
from tpstream.replay.looks import LookAudit
from tpstream.replay.replay import rebuild, whole_rounds
from tpstream.run.loop import counted_rounds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import Trial
from tpstream.trial.decisions import SimulatedTrials, stack_measures
from tpstream.trial.designs import DesignDescription, OperatingCharacteristics
from tpstream.trial.outcomes import TrialOutcome, read_outcome, refuse_unfinished
from tpstream.trial.truths import GIVEN


def read_trial(logs: Iterable[Log | str | Path] | Log | str | Path) -> Trial | OperatingCharacteristics:
    """Compute the operating characteristics of a trial from the logs of its runs.

    The looks of a design are held again on the events of the logs; what they find must be what the logs say.

    Parameters
    ----------
    logs : path, Log, or several of them
        Log files, folders of logs, or logs that are open already; all of one scenario.

    Returns
    -------
    Trial or OperatingCharacteristics
        The operating characteristics of every policy that the logs are of; the latter if the scenario has a table
        `[trial]`.

    Raises
    ------
    LogError
        The logs are of different scenarios, hold a run twice, hold not all events, or end before the last read-out; a
        look in a log is not what its events give.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, read_trial, trial
    >>> with TemporaryDirectory() as folder:
    ...     _ = trial(Scenario.load("lottery-all").with_(horizon=30), ["ucb1"], runs=2, seed=1, logs=folder)
    ...     sorted(read_trial(folder).outcomes)
    ['ucb1', 'uniform']
    """
    gathered = gather(logs)
    header = gathered.header
    if header.scenario.get("trial"):
        return read_design(gathered)
    return Trial(
        name=gathered.name,
        arms=tuple(header.arms),
        means=header.known_means(),
        horizon=header.horizon,
        outcomes={policy: [read_outcome(log) for log in of_policy] for policy, of_policy in gathered.logs.items()},
        time_unit=header.time_unit,
        currency=logged_currency(header),
    )


def trial_of(study: Study, time_unit: str | None) -> Trial:
    """The trial whose outcomes are the measures of this study's runs, in a scenario with this unit of time."""
    return Trial(
        name=study.name,
        arms=study.arms,
        means=study.means,
        horizon=int(study.rounds[-1]),
        time_unit=time_unit,
        currency=study.currency,
        outcomes={
            policy: [
                TrialOutcome.from_measures(study.seed, int(run), records.measures[place])
                for place, run in enumerate(records.runs)
            ]
            for policy, records in study.records.items()
        },
        failures=study.failures,
        origin=study.origin,
    )


def read_design(gathered: WorldLogs) -> OperatingCharacteristics:
    """The operating characteristics of the design of these logs; each policy is a design of its own."""
    header, several = gathered.header, len(gathered.logs) > 1
    logs = [log for of_policy in gathered.logs.values() for log in of_policy]
    for log in logs:
        refuse_unfinished(log)
        if log.header.seed != header.seed:
            raise LogError(f"{log.path}: has the seed {log.header.seed}, another {header.seed}; give logs of one seed")
    scenario, design = _design(logs[0])
    summary = TrialSummary.of_scenario(scenario, design)
    trials: list[SimulatedTrials] = []
    descriptions: dict[str, DesignDescription] = {}
    for policy, of_policy in gathered.logs.items():
        name = f"{gathered.name}: {policy}" if several else gathered.name
        runs = np.array([log.header.run for log in of_policy])
        measures = (_measures(log, scenario, design) for log in of_policy)
        comparison = summary.comparison(design.names)
        trials.append(stack_measures(name, GIVEN, comparison, design.horizon, runs, measures))
        scenarios = {GIVEN: scenario}
        descriptions[name] = DesignDescription(
            design.horizon, summary.rules, scenario.time_unit, None, scenarios, policy
        )
    return OperatingCharacteristics(trials, descriptions, header.seed)


def _design(log: Log) -> tuple[Scenario, Design]:
    """The scenario of a log's header, and its design."""
    scenario, reason = rebuild(log, ".")
    design = None if scenario is None else scenario.design()
    if scenario is None or design is None:
        raise LogError(f"{log.path}: its design cannot be built again: {reason}; run the trial again")
    return scenario, design


def _measures(log: Log, scenario: Scenario, design: Design) -> dict[str, NDArray[Any]]:
    """The measures of one trial: its looks are held again, and compared with those of the log."""
    header = log.header
    audit = LookAudit(design, scenario.build_world(header.seed, header.run))
    pulls = PullCounts(design.arms, counted_rounds(design.horizon, ()))
    for events in audit.checked(whole_rounds(log.batches()), str(log.path), complete=True):
        pulls.add(events.arm[events.kind == Kind.PULL])
    return {**audit.monitor.values(), "pulls": pulls.counts()}
