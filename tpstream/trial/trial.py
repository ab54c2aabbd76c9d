"""Running trials: many runs to their last read-out, each read from its log and then forgotten."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from tpstream.experiment.compare import Expecting, refuse_if_all_failed, run_study
from tpstream.experiment.plan import make_plan
from tpstream.experiment.result import Study
from tpstream.run.options import RunKeywords, run_options
from tpstream.scenario.policy_choice import PolicySpec, request_policies, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import FIXED, Trial, read_trial

RUNS_ON_DISK = 50
"""Runs whose logs are on the disk at one time, if they are not to be kept."""


def trial(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int = 1,
    logs: str | Path | None = None,
    **options: Unpack[RunKeywords],
) -> Trial:
    """Judge policies as designs of a trial, against fixed randomisation.

    Every run goes on until the last part of the last pull is known (`drain`). The policy `uniform`, fixed
    randomisation, runs in any case.

    Parameters
    ----------
    scenario, policies, runs, seed, jobs
        As in `compare`.
    logs
        A folder that keeps the event logs from which everything is computed, also those of runs that failed, up to
        the failure. By default they are written to a temporary folder and removed.
    **options
        `engine`, `force`, `sinks` and `progress`, as in `simulate`.

    Returns
    -------
    Trial
        Operating characteristics of every policy. A run that failed is in its `failures`.

    Raises
    ------
    StudyError
        If all runs fail.

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
    progress = options.get("progress")
    if isinstance(progress, Expecting):
        progress.expect(drained.horizon * len(requested) * runs)
        options["progress"] = partial(progress)  # each batch of runs would expect rounds of its own
    found = []
    for batch in _batches(runs, RUNS_ON_DISK if logs is None else runs):
        with TemporaryDirectory(prefix="tpstream-trial-") if logs is None else nullcontext(logs) as folder:
            asked = run_options(folder, **(options | {"log_format": "arrow", "log_detail": "all"}))
            plan = make_plan(drained, requested, batch, seed, (), asked)
            (study,) = run_study(plan, jobs=jobs, folder=None, executor=None)
            whole = [path for paths in study.logs.values() for path in paths]
            found.append((study, read_trial(whole) if whole else None))
    refuse_if_all_failed([study for study, _ in found])
    return _join(found, [one.label for one in request_policies(drained.policies, requested)])


def _batches(runs: int, most: int) -> list[range]:
    """The numbers of the runs, at most so many together; for no runs at all a batch that the plan refuses."""
    return [range(first, min(first + most, runs)) for first in range(0, runs, most)] or [range(runs)]


def _join(found: Sequence[tuple[Study, Trial | None]], policies: Sequence[str]) -> Trial:
    """Batches of runs of the same trial as one, with the policies in this order."""
    trials = [one for _, one in found if one is not None]
    failures = [failure for study, _ in found for failure in study.failures]
    return replace(
        trials[0],
        outcomes={policy: [run for one in trials for run in one.outcomes.get(policy, ())] for policy in policies},
        failures=tuple(sorted(failures, key=lambda failure: (policies.index(failure.policy), failure.run))),
    )
