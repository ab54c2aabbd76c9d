"""Comparing policies over many runs: `compare`, and how it carries out a plan.

What the store lacks is run and kept, and the results are built from the store. One run alone takes a shorter way.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Unpack, runtime_checkable

import msgspec
import numpy as np

from tpstream.analysis.intervals import CLAIRVOYANT, WAITING
from tpstream.engines.engine import select
from tpstream.experiment.executors import Chunker, count_workers, run_chunks
from tpstream.experiment.folder import Origin, export, open_folder, origin_of
from tpstream.experiment.live import ResultTeller, Told, tell_runs
from tpstream.experiment.plan import Chunk, Plan, list_work, make_plan
from tpstream.experiment.result import Study
from tpstream.experiment.runs import NUMBER, CellSummary, FailedRun, Records, summarize, summarize_cells
from tpstream.experiment.sending import Obstacle, executor_obstacle, processes_obstacle
from tpstream.experiment.store import RunResult, Store
from tpstream.model.arrays import Ints
from tpstream.model.errors import LogError, StudyError
from tpstream.model.limits import MOST_RUNS
from tpstream.model.notes import logger
from tpstream.run.cost import Work, check_cost, estimate
from tpstream.run.loop import RunStopped, counted_rounds, run_policies
from tpstream.run.options import LogOptions, RunKeywords, RunOptions, is_small, run_options
from tpstream.scenario.policy_choice import PolicyRequest, PolicySpec, request_policies, with_kinds
from tpstream.scenario.scenario import Scenario

NOTHING_DONE = "stopped before any run was done, so there is nothing to show; let it go on longer"


@runtime_checkable
class Expecting(Protocol):
    """A progress that wants to know beforehand how many rounds there are."""

    def expect(self, rounds: int) -> None:
        """Take the number of rounds that are going to be reported."""


@runtime_checkable
class Hearing(Protocol):
    """A progress that wants to know what finished runs reported."""

    def hear(self, results: Sequence[RunResult]) -> None:
        """Take the results of runs that were just finished."""


def compare(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 10,
    first: int = 0,
    seed: int | None = None,
    jobs: int = 1,
    rounds: Sequence[int] = (),
    logs: str | Path | None = None,
    baselines: bool | Sequence[str] = False,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> Study:
    """Run every policy several times on common random numbers.

    Parameters
    ----------
    scenario
        The world: a `Scenario`, a scenario file, the name of one that ships, or a dictionary of its keys.
    policies
        A list of names, as in "tp-ucb-fr" or "tp-ucb-fr:groups=50", dictionaries, as in
        `{"kind": "tp-ucb-fr", "groups": 50}`, or policy objects; by default those of the scenario.
    runs, first
        How many runs, and the number of the first: run k has the same random numbers under every policy.
    seed
        Where all random numbers come from; by default the scenario's seed.
    jobs
        How many cores to use; a program needs the usual guard of its main part for more than one. What cannot be sent
        to another process is run in this one, with a note that says why. No result depends on it.
    rounds
        Rounds, besides the last, at which results are given.
    logs
        A folder in which every run leaves its event log; see `simulate` for `log_format` (here "jsonl" by default) and
        `log_detail`.
    baselines
        Add the clairvoyant and the waiting policy (`ucb1` and `delayed-ucb1`, or the two that are given here) where
        they are missing, so that `Study.value` can tell what partial information is worth.
    folder
        Keeps every finished run, so that the same call goes on where it was interrupted, and gets the result files.
    executor
        Runs the work instead of `jobs`: any `concurrent.futures.Executor`, e.g. that of a Dask client.
    **options
        `engine`, `log_format`, `log_detail`, `force`, `sinks` and `progress`, as in `simulate`; `timeout`, the seconds
        that a policy may take for a run: one that takes longer is ended and is in `failures`, and the others go on.

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
    scenario = Scenario.load(scenario)
    asked = run_options(logs, **options)
    if baselines:
        policies = with_kinds(scenario.policies, policies, (CLAIRVOYANT, WAITING) if baselines is True else baselines)
    alone = runs == 1 and folder is None and executor is None and asked.timeout is None
    if alone and jobs >= 1 and 0 <= first < MOST_RUNS:
        seed = scenario.seed if seed is None else seed
        study = run_once(scenario, request_policies(scenario.policies, policies), first, seed, rounds, asked)
    else:
        plan = make_plan(scenario, policies, range(first, first + runs), seed, rounds, asked)
        (study,) = run_study(plan, jobs=jobs, folder=None if folder is None else Path(folder), executor=executor)
    refuse_if_all_failed([study])
    if folder is not None:
        export(Path(folder), study.tables())
    return study


def run_study(plan: Plan, *, jobs: int, folder: Path | None, executor: Executor | None) -> list[Study]:
    """Run what is missing of the plan, and return the result of every cell."""
    if jobs < 1:
        raise StudyError(f"jobs must be at least 1, got {jobs}")
    _check_plan(plan, jobs)
    cells = [] if folder is None else summarize_cells(plan, commands=True)
    plan = plan if folder is None else open_folder(folder, plan, msgspec.to_builtins(cells))
    failed = False
    with Store(folder) as store:
        work = list_work(plan, store.finished)
        if plan.options.log is not None:
            wanted = [(one.choice.label, run) for chunk in work for run in chunk.runs for one in chunk.policies]
            check_logs(plan.options.log, wanted)
        _report_beforehand(plan, work, folder)
        cores = min(jobs, sum(len(chunk.runs) for chunk in work))
        chunker = Chunker(work, count_workers(executor) if executor else cores, compiled=plan.compiled)
        search = partial(find_obstacle, plan, work, executor)
        live: dict[str, Any] = {} if plan.options.live is None else {"stopped": plan.options.live.stopped}
        live["timeout"] = plan.options.timeout
        teller = None if plan.options.live is None else ResultTeller(plan, plan.options.live)
        doing = run_chunks(chunker, plan.options.progress, executor=executor, jobs=cores, find_obstacle=search, **live)
        with closing(doing) as results:
            for some in results:
                store.keep(some)
                if teller is not None:
                    teller.tell(some)
                if isinstance(plan.options.progress, Hearing):
                    plan.options.progress.hear(some)
                failed = failed or any(one.failure is not None for one in some)
        cells = cells or summarize_cells(plan, commands=failed)
        kept = RunOptions(log=plan.options.log, measurer=plan.options.measurer)  # without progress and sinks
        origin = partial(origin_of, replace(plan, options=kept))
        return [
            stored_study(store, cell, plan.runs, plan.seed, plan.rounds, plan.options.log, origin) for cell in cells
        ]


def _check_plan(plan: Plan, jobs: int) -> None:
    """Raise if this machine does not have what the plan takes."""
    if is_small(((cell.world.scenario, len(cell.policies)) for cell in plan.cells), len(plan.runs)):
        return
    work = [Work(cell.world.scenario, [one.choice for one in cell.policies], len(plan.rounds)) for cell in plan.cells]
    workers = min(jobs, len(plan.runs) * len(plan.cells))
    check_cost(estimate(work, len(plan.runs), workers, plan.options, compiled=plan.compiled), plan.options)


def find_obstacle(plan: Plan, work: Sequence[Chunk], executor: Executor | None) -> Obstacle | None:
    """What keeps the work from being done elsewhere than in this process; None if nothing does."""
    if executor is not None:
        return executor_obstacle(executor, plan.options)
    policies = {one.result_key: one for chunk in work for one in chunk.policies}
    return processes_obstacle(policies.values(), plan.options)


def stored_study(
    store: Store,
    cell: CellSummary,
    runs: range,
    seed: int,
    rounds: Sequence[int],
    log: LogOptions | None,
    origin: Callable[[], Origin] | None = None,
) -> Study:
    """The result of a cell from what the store has of these runs."""
    records = {label: store.records(one.result_key, runs) for label, one in cell.policies.items()}
    return make_study(cell, records, seed, rounds, log, origin)


def run_once(
    scenario: Scenario,
    requests: Sequence[PolicyRequest],
    run: int,
    seed: int,
    rounds: Sequence[int],
    options: RunOptions,
) -> Study:
    """One run of every policy in this process, without plan, store or worker."""
    problem, options = scenario.problem(), options.of_policies(one.label for one in requests)
    choices = [request.choose(problem, scenario.folder) for request in requests]
    for choice in choices:
        select(options.engine, choice.form, scenario.timing())  # an engine that cannot serve is an error
    if not is_small([(scenario, len(choices))]):
        work = Work(scenario, choices, len(rounds))
        check_cost(estimate([work], 1, 1, options, compiled=options.engine != "simpy"), options)
    if options.log is not None:
        check_logs(options.log, [(choice.label, run) for choice in choices])
    if isinstance(options.progress, Expecting):
        options.progress.expect(scenario.horizon * len(choices))
    counted = counted_rounds(scenario.horizon, rounds)
    try:
        results = run_policies(scenario, choices, seed, run, counted, options)
    except RunStopped as stopped:
        results, counted = stopped.results, stopped.rounds
        if not len(counted):
            raise StudyError(NOTHING_DONE) from None
    found = {}
    for choice, result in zip(choices, results, strict=True):
        fine = [result] if result.failure is None else []
        measures, seconds = [one.measures for one in fine], np.array([one.seconds for one in fine])
        failures = {} if result.failure is None else {run: result.failure}
        found[choice.label] = Records(np.full(len(fine), run), measures, seconds, failures)
    failed = any(result.failure is not None for result in results)
    cell = summarize(scenario.name, scenario, {}, [(choice, "") for choice in choices], seed, commands=failed)
    if options.live is not None:
        told = [Told(scenario.name, "", choice.label, np.asarray(scenario.means)) for choice in choices]
        tell_runs(options.live, zip(told, [one.measures for one in results], strict=True))
    origin = partial(_origin_of_run, scenario, requests, run, seed)
    return make_study(cell, found, seed, rounds, options.log, origin, counted)


def _origin_of_run(scenario: Scenario, requests: Sequence[PolicyRequest], run: int, seed: int) -> Origin:
    """How a single run was made: as a study of one run."""
    return origin_of(
        Plan(scenario, tuple(requests), {}, (), seed, range(run, run + 1), (), RunOptions(), compiled=True)
    )


def make_study(
    cell: CellSummary,
    records: Mapping[str, Records],
    seed: int,
    rounds: Sequence[int],
    log: LogOptions | None,
    origin: Callable[[], Origin] | None,
    counted: Ints | None = None,
) -> Study:
    """The result of a cell from its runs by policy; `rounds` are those that were asked for besides the last.

    `counted` are the rounds up to which pulls were counted, if that is known: a run that was stopped has fewer.
    """
    counted = counted_rounds(cell.horizon, rounds) if counted is None else counted
    return Study(
        name=cell.name,
        seed=seed,
        arms=cell.arms,
        means=np.array(cell.means),
        rounds=counted,
        chosen=np.unique([*(one for one in rounds if one <= counted[-1]), counted[-1]]),
        records=records,
        logs={label: [log.path(label, int(run)) for run in of.runs] if log else [] for label, of in records.items()},
        failures=tuple(
            FailedRun(cell.name, label, run, seed, reason, cell.policies[label].repeat.replace(NUMBER, str(run)))
            for label, of in records.items()
            for run, reason in of.failures.items()
        ),
        currency=cell.currency,
        round_title=cell.round_title,
        origin=origin,
    )


def refuse_if_all_failed(studies: Sequence[Study]) -> None:
    """Raise if no run of any study was finished: there is nothing to show."""
    if not any(len(records) for study in studies for records in study.records.values()):
        failures = [failure for study in studies for failure in study.failures]
        if not failures:
            raise StudyError(NOTHING_DONE)
        others = f" (and so did all {len(failures)} runs)" if len(failures) > 1 else ""
        raise StudyError(f"{failures[0]}{others}")


def check_logs(log: LogOptions, wanted: Sequence[tuple[str, int]]) -> None:
    """Raise before any run starts if the log of one of these policies and runs could not be written."""
    if log.place.exists() and not log.place.is_dir():
        raise LogError(f"{log.place}: is a file; give a folder for the logs")
    there = [path.name for path in (log.path(label, run) for label, run in wanted) if path.exists()]
    if there and not log.force:
        raise LogError(
            f"{log.place}: there is a log already, {there[0]}; choose another folder, or overwrite with --force"
        )


def _report_beforehand(plan: Plan, work: Sequence[Chunk], folder: Path | None) -> None:
    """Tell the progress how many rounds there are, and how many of them an earlier command did."""
    progress = plan.options.progress
    horizons = {one.result_key: cell.world.scenario.horizon for cell in plan.cells for one in cell.policies}
    total = sum(horizons.values()) * len(plan.runs)
    missing = sum(chunk.total_rounds for chunk in work)
    if isinstance(progress, Expecting):
        progress.expect(total)
    if progress is not None and missing < total:
        progress(total - missing)
    if folder is not None:
        kept = len(horizons) * len(plan.runs) - sum(len(chunk.runs) * len(chunk.policies) for chunk in work)
        logger(scenario=plan.scenario.name, seed=plan.seed).debug("study goes on", folder=str(folder), kept_runs=kept)
