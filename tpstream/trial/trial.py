"""Running trials: many runs to their last read-out, each of which reports its outcome."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from tpstream.experiment.compare import refuse_if_all_failed, run_study
from tpstream.experiment.folder import export
from tpstream.experiment.plan import make_plan
from tpstream.model.errors import StudyError
from tpstream.run.options import RunKeywords, RunOptions, run_options
from tpstream.scenario.policy_choice import PolicySpec, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.trial.characteristics import FIXED, Trial
from tpstream.trial.designs import OperatingCharacteristics
from tpstream.trial.from_runs import trial_of
from tpstream.trial.outcomes import OutcomeMeasures
from tpstream.trial.simulated import simulate_designs
from tpstream.trial.truths import Truths

Source = Scenario | str | Path | Mapping[str, Any]
"""What a scenario can be given as."""


def trial(
    scenario: Source | Sequence[Source],
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int = 1,
    logs: str | Path | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    truths: Truths | None = None,
    **options: Unpack[RunKeywords],
) -> Trial | OperatingCharacteristics:
    """Judge designs of a trial by simulating it many times.

    For a scenario with a table `[trial]` (looks, rules, allocation), the result is its operating characteristics: error
    rates, power, sizes, bias and coverage, with Monte Carlo errors. For one without, policies are compared with fixed
    randomisation: every run goes on until the last part of the last pull is known (`drain`), and the policy `uniform`
    runs in any case.

    Parameters
    ----------
    scenario
        As in `compare`; or several scenarios with a table `[trial]` and the same arms, whose designs are compared trial
        by trial on common random numbers.
    policies, runs, seed, jobs, executor
        As in `compare`; `runs` is the number of simulated trials.
    logs
        A folder that keeps the event logs of all runs, also of those that failed, up to the failure; `read_trial`
        computes the same from them. Not for several scenarios or truths.
    folder
        Keeps the outcome of every finished run, so that the same call goes on where it was interrupted, and gets the
        result files. `read_study` reads it again.
    truths
        Under which truths designs are simulated: the null, effects on one arm, rates of the control; by default what
        the scenario says.
    **options
        `engine`, `force`, `sinks` and `progress`, as in `simulate`.

    Returns
    -------
    OperatingCharacteristics or Trial
        For scenarios with a design, and for those without. A run that failed is in its `failures`.

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
    single = isinstance(scenario, str | Path | Mapping | Scenario)
    sources: Sequence[Any] = [scenario] if single else list(cast("Sequence[Any]", scenario))
    scenarios = [Scenario.load(one) for one in sources]
    place = None if folder is None else Path(folder)
    asked = run_options(logs, **(options | {"log_format": "arrow", "log_detail": "all"}))
    if len(scenarios) == 1 and scenarios[0].trial is None:
        if truths is not None and not truths.plain:
            raise StudyError(f"{scenarios[0].name}: truths are about a design; add a table [trial]")
        return _judge(scenarios[0], policies, asked, runs, seed, jobs, place, executor)
    truths = truths or Truths()
    if logs is not None and (len(scenarios) > 1 or not truths.plain):
        raise StudyError("logs are kept of one design under one truth; leave out `logs`, or give one scenario only")
    return simulate_designs(
        scenarios,
        policies,
        truths,
        runs=range(runs),
        seed=seed,
        jobs=jobs,
        folder=place,
        executor=executor,
        options=asked,
    )


def _judge(
    scenario: Scenario,
    policies: Sequence[PolicySpec] | None,
    asked: RunOptions,
    runs: int,
    seed: int | None,
    jobs: int,
    place: Path | None,
    executor: Executor | None,
) -> Trial:
    """Compare policies with fixed randomisation."""
    drained = scenario if scenario.drain else scenario.with_(drain=True).noted({"drain": True})
    requested = with_kinds(drained.policies, policies, [FIXED])
    plan = make_plan(drained, requested, range(runs), seed, (), replace(asked, measurer=OutcomeMeasures))
    (study,) = run_study(plan, jobs=jobs, folder=place, executor=executor)
    refuse_if_all_failed([study])
    found = trial_of(study, drained.time_unit)
    if place is not None:
        export(place, found.tables())
    return found
