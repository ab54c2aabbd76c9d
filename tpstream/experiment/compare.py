"""Comparing policies over many runs: `compare`."""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Unpack

from tpstream.analysis.intervals import CLAIRVOYANT, WAITING
from tpstream.experiment.execute import check_jobs, refuse_if_all_failed, run_once, run_study
from tpstream.experiment.folder import export
from tpstream.experiment.plan import make_plan
from tpstream.experiment.result import Study
from tpstream.policies.base import PolicyForm
from tpstream.run.options import RunKeywords, run_options
from tpstream.scenario.policy_choice import request_policies, with_kinds
from tpstream.scenario.scenario import Scenario


def compare(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None = None,
    *,
    runs: int = 10,
    first: int = 0,
    seed: int | None = None,
    jobs: int = 1,
    rounds: Sequence[int] = (),
    logs: str | Path | None = None,
    baselines: bool = False,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> Study:
    """Run every policy several times on common random numbers.

    Parameters
    ----------
    scenario
        The world, as `Scenario.load` gives it.
    policies
        Names, as in "tp-ucb-fr" or "tp-ucb-fr:groups=50", or policy objects; by default those of the scenario.
    runs, first
        How many runs, and the number of the first: run k has the same random numbers under every policy.
    seed
        Where all random numbers come from; by default the scenario's seed.
    jobs
        How many cores to use; a program needs the usual guard of its main part for more than one. No result depends
        on it.
    rounds
        Rounds, besides the last, at which results are given.
    logs
        A folder in which every run leaves its event log; see `simulate` for `log_format` (here "jsonl" by default) and
        `log_detail`.
    baselines
        Add the clairvoyant and the waiting policy (`ucb1` and `delayed-ucb1`) where they are missing, so that
        `Study.value` can tell what partial information is worth.
    folder
        Keeps every finished run, so that the same call goes on where it was interrupted, and gets the result files.
    executor
        Runs the work instead of `jobs`: any `concurrent.futures.Executor`, e.g. that of a Dask client.
    **options
        `engine`, `log_format`, `log_detail`, `force`, `sinks` and `progress`, as in `simulate`.

    Returns
    -------
    Study
        Tables, curves and contrasts. A run that failed is in its `failures`.

    Raises
    ------
    StudyError
        If all runs fail, or the folder holds another study.
    TpstreamError
        If a policy cannot be built, the engine cannot serve, or a log cannot be written.

    Examples
    --------
    >>> from tpstream import Scenario, compare
    >>> study = compare(Scenario.load("setting-1").with_(horizon=300), ["ucb1", "tp-ucb-ew"], runs=3, seed=7)
    >>> study.table()[["policy", "runs"]].values.tolist()
    [['ucb1', 3], ['tp-ucb-ew', 3]]
    """
    check_jobs(jobs)
    asked = run_options(logs, **options)
    if baselines:
        policies = with_kinds(scenario, policies, [CLAIRVOYANT, WAITING])
    if runs == 1 and first >= 0 and folder is None and executor is None:
        seed = scenario.seed if seed is None else seed
        study = run_once(scenario, request_policies(scenario, policies), first, seed, rounds, asked)
    else:
        plan = make_plan(scenario, policies, range(first, first + runs), seed, rounds, asked)
        (study,) = run_study(plan, jobs=jobs, folder=None if folder is None else Path(folder), executor=executor)
    refuse_if_all_failed([study])
    if folder is not None:
        export(Path(folder), study.tables())
    return study
