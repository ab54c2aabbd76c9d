"""Carrying out a plan: run what the store lacks, keep it, and build the results from the store."""

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tpstream.engines.engine import select
from tpstream.experiment.chunks import Chunker
from tpstream.experiment.executors import can_use_processes, count_workers, run_chunks
from tpstream.experiment.folder import open_folder
from tpstream.experiment.plan import Plan, Task, list_tasks
from tpstream.experiment.result import FailedRun, Study
from tpstream.experiment.store import MemoryResults, Records, Store
from tpstream.model.arrays import Ints
from tpstream.model.errors import LogError, StudyError
from tpstream.model.notes import logger
from tpstream.policies import POLICIES
from tpstream.run.loop import counted_rounds, run_policies
from tpstream.run.options import LogOptions, Progress, RunOptions
from tpstream.scenario.overrides import steps_of
from tpstream.scenario.plugins import loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice, PolicyRequest
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import policy_spec, toml_text


@runtime_checkable
class Expecting(Protocol):
    """A progress that wants to know beforehand how many rounds there are."""

    def expect(self, rounds: int) -> None:
        """Take the number of rounds that are going to be reported."""
        ...


def run_study(plan: Plan, *, jobs: int, folder: Path | None, executor: Executor | None) -> list[Study]:
    """Run what is missing of the plan, and return the result of every cell."""
    check_jobs(jobs)
    with ExitStack() as stack:
        plan = plan if folder is None else open_folder(folder, plan)
        store: Store | MemoryResults = MemoryResults() if folder is None else stack.enter_context(Store(folder))
        tasks = list_tasks(plan, store.finished)
        if plan.options.log is not None:
            check_logs(
                plan.options.log, [(policy.choice.label, task.run) for task in tasks for policy in task.policies]
            )
        _report_beforehand(plan, tasks, folder)
        chunker = Chunker(tasks, plan, count_workers(executor) if executor else jobs)
        processes = jobs > 1 and can_use_processes(policy for cell in plan.cells for policy in cell.policies)
        if jobs > 1 and executor is None and not (processes or plan.compiled):
            logger().warning("only one core is used", remedy='put the call under if __name__ == "__main__":')
        results = run_chunks(
            chunker,
            plan.options.progress,
            executor=executor,
            jobs=min(jobs, len(tasks)),
            compiled=plan.compiled,
            processes=processes,
        )
        for some in stack.enter_context(closing(results)):
            store.keep(some)
        return [
            make_study(
                cell.world.scenario,
                [(one.choice, store.records(one.result_key, plan.runs)) for one in cell.policies],
                {
                    (one.choice.label, run): reason
                    for one in cell.policies
                    for run, reason in store.failures(one.result_key, plan.runs).items()
                },
                plan.seed,
                cell.rounds,
                plan.rounds,
                plan.options.log,
                cell.settings,
                plan.scenario,
            )
            for cell in plan.cells
        ]


def run_once(
    scenario: Scenario,
    requests: Sequence[PolicyRequest],
    run: int,
    seed: int,
    rounds: Sequence[int],
    options: RunOptions,
) -> Study:
    """One run of every policy in this process, without plan, store or worker."""
    problem = scenario.problem()
    choices = [request.choose(problem) for request in requests]
    for choice in choices:
        select(options.engine, choice.form, scenario.timing())  # an engine that cannot serve is an error
    if options.log is not None:
        check_logs(options.log, [(choice.label, run) for choice in choices])
    if isinstance(options.progress, Expecting):
        options.progress.expect(scenario.horizon * len(choices))
    counted = counted_rounds(scenario.horizon, sorted(set(rounds)))
    results = run_policies(scenario, choices, seed, run, counted, options)
    found = []
    for choice, result in zip(choices, results, strict=True):
        fine = [result] if result.failure is None else []
        runs = np.full(len(fine), run)
        found.append((choice, Records(runs, [one.measures for one in fine], np.array([one.seconds for one in fine]))))
    failures = {
        (choice.label, run): result.failure
        for choice, result in zip(choices, results, strict=True)
        if result.failure is not None
    }
    return make_study(scenario, found, failures, seed, counted, rounds, options.log, {}, scenario)


def make_study(
    scenario: Scenario,
    found: Sequence[tuple[PolicyChoice, Records]],
    failures: Mapping[tuple[str, int], str],
    seed: int,
    counted: Ints,
    rounds: Sequence[int],
    log: LogOptions | None,
    settings: Mapping[str, Any],
    asked: Scenario,
) -> Study:
    """The result of some policies in a scenario; `settings` are those by which it differs from the one `asked` for."""
    problem = scenario.problem()
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    name = " ".join([scenario.name, *(f"{path}={value}" for path, value in settings.items())])
    choices = {choice.label: choice for choice, _ in found}
    return Study(
        name=name,
        seed=seed,
        arms=problem.names,
        means=problem.means,
        rounds=counted,
        chosen=np.unique([*rounds, scenario.horizon]),
        records={choice.label: records for choice, records in found},
        logs={
            choice.label: [log.path(choice.label, int(run)) for run in records.runs] if log else []
            for choice, records in found
        },
        failures=tuple(
            FailedRun(name, label, run, seed, reason, how_to_repeat(asked, settings, choices[label], seed, run))
            for (label, run), reason in failures.items()
        ),
    )


def check_jobs(jobs: int) -> None:
    """Raise unless there is at least one job."""
    if jobs < 1:
        raise StudyError(f"jobs must be at least 1, got {jobs}")


def refuse_if_all_failed(studies: Sequence[Study]) -> None:
    """Raise if no run of any study was finished: there is nothing to show."""
    if not any(len(records) for study in studies for records in study.records.values()):
        failures = [failure for study in studies for failure in study.failures]
        raise StudyError(f"{failures[0]} (and so did all {len(failures)} runs)")


def how_to_repeat(scenario: Scenario, settings: Mapping[str, Any], choice: PolicyChoice, seed: int, run: int) -> str:
    """A command that repeats one run alone; a call where scenario or policy exist in Python only."""
    if scenario.source is None or choice.form.name not in POLICIES.names():
        return f"simulate(scenario, {choice.label!r}, seed={seed}, run={run})"
    settings = {**scenario.settings, **settings}
    of_world = {path: value for path, value in settings.items() if steps_of(path)[0] != "policies"}
    if len(of_world) == len(settings):
        policy = choice.label
    else:  # a parameter was set: name all of them
        policy = policy_spec(choice.form.name, choice.parameters.model_dump(mode="json", exclude_none=True))
    words = ["tpstream", "run", scenario.source, "--policy", policy, "--horizon", str(scenario.horizon)]
    for path, value in of_world.items():
        words += ["--set", f"{path}={toml_text(value)}"]
    for plugin in loaded_plugins():
        words += ["--plugin", str(plugin.path)]
    return shlex.join([*words, "--seed", str(seed), "--run", str(run)])


def check_logs(log: LogOptions, wanted: Sequence[tuple[str, int]]) -> None:
    """Raise before any run starts if the log of one of these policies and runs could not be written."""
    if log.place.exists() and not log.place.is_dir():
        raise LogError(f"{log.place}: is a file; give a folder for the logs")
    there = [path.name for path in (log.path(label, run) for label, run in wanted) if path.exists()]
    if there and not log.force:
        raise LogError(
            f"{log.place}: there is a log already, {there[0]}; choose another folder, or overwrite with --force"
        )


def _report_beforehand(plan: Plan, tasks: Sequence[Task], folder: Path | None) -> None:
    """Tell the progress how many rounds there are, and how many of them an earlier command did."""
    progress: Progress | None = plan.options.progress
    horizons = {one.result_key: cell.world.scenario.horizon for cell in plan.cells for one in cell.policies}
    total = sum(horizons.values()) * len(plan.runs)
    missing = sum(len(task.policies) * task.world.scenario.horizon for task in tasks)
    if isinstance(progress, Expecting):
        progress.expect(total)
    if progress is not None and missing < total:
        progress(total - missing)
    if folder is not None:
        kept = len(horizons) * len(plan.runs) - sum(len(task.policies) for task in tasks)
        logger(scenario=plan.scenario.name, seed=plan.seed).debug("study goes on", folder=str(folder), kept_runs=kept)
