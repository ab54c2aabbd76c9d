"""Trials from the logs of their runs, or from the measures of a study's runs."""

from collections.abc import Iterable
from pathlib import Path

from tpstream.analysis.logs import gather, logged_currency
from tpstream.experiment.result import Study
from tpstream.log.reader import Log
from tpstream.trial.characteristics import Trial
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.logged import read_design
from tpstream.trial.outcomes import TrialOutcome, read_outcome


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
