"""Running trials: many runs to their last read-out, each of which reports its outcome."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from tpstream.experiment.compare import refuse_if_all_failed, run_study
from tpstream.experiment.folder import export
from tpstream.experiment.plan import make_plan
from tpstream.run.options import RunKeywords, run_options
from tpstream.scenario.policy_choice import PolicySpec, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import FIXED, Trial, trial_of
from tpstream.trial.outcomes import OutcomeMeasures


def trial(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int = 1,
    logs: str | Path | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> Trial:
    """Judge policies as designs of a trial, against fixed randomisation.

    Every run goes on until the last part of the last pull is known (`drain`). The policy `uniform`, fixed
    randomisation, runs in any case.

    Parameters
    ----------
    scenario, policies, runs, seed, jobs, executor
        As in `compare`.
    logs
        A folder that keeps the event logs of all runs, also of those that failed, up to the failure; `read_trial`
        computes the same from them.
    folder
        Keeps the outcome of every finished run, so that the same call goes on where it was interrupted, and gets the
        result files. `read_study` reads it again.
    **options
        `engine`, `force`, `sinks` and `progress`, as in `simulate`.

    Returns
    -------
    Trial
        Operating characteristics of every policy. A run that failed is in its `failures`.

    Raises
    ------
    StudyError
        If all runs fail, or the folder holds another study.

    Examples
    --------
    >>> from tpstream import Scenario, trial
    >>> found = trial(Scenario.load("medical-trial").with_(horizon=40), ["tp-ucb-ew"], runs=2)
    >>> found.table()["policy"].tolist()
    ['uniform', 'tp-ucb-ew']
    """
    scenario = Scenario.load(scenario)
    drained = scenario if scenario.drain else scenario.with_(drain=True).noted({"drain": True})
    requested = with_kinds(drained.policies, policies, [FIXED])
    asked = run_options(logs, **(options | {"log_format": "arrow", "log_detail": "all"}))
    plan = make_plan(drained, requested, range(runs), seed, (), replace(asked, measurer=OutcomeMeasures))
    place = None if folder is None else Path(folder)
    (study,) = run_study(plan, jobs=jobs, folder=place, executor=executor)
    refuse_if_all_failed([study])
    found = trial_of(study, drained.time_unit)
    if place is not None:
        export(place, found.tables())
    return found
