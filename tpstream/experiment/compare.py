"""Comparisons: several policies, many runs, the same random numbers for all.

Failures: how to repeat a run that failed, alone.

Conducting a study: what is missing is done and kept, and what was kept becomes the result."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tpstream.analysis.intervals import CLAIRVOYANT, WAITING
from tpstream.engines.engine import EngineName
from tpstream.experiment.chunks import Chunker
from tpstream.experiment.executors import can_spawn, count_workers, default_jobs, work
from tpstream.experiment.folder import export, open_folder
from tpstream.experiment.plan import Cell, Plan, Task, list_tasks, make_cells
from tpstream.experiment.result import FailedRun, Study
from tpstream.experiment.store import Store
from tpstream.experiment.worker import Logs, Progress
from tpstream.log.formats import check_streams
from tpstream.log.schema import Detail
from tpstream.model.errors import LogError, StudyError
from tpstream.model.notes import logger
from tpstream.policies import POLICIES
from tpstream.policies.base import PolicyForm
from tpstream.run.sinks import choose_sink
from tpstream.scenario.overrides import steps_of
from tpstream.scenario.plugins import loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice, request_policies, with_kinds
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import policy_spec, toml_text


def how_to_repeat(scenario: Scenario, settings: Mapping[str, Any], choice: PolicyChoice, seed: int, run: int) -> str:
    """A command that does one run again; a call where scenario or policy exist in Python only."""
    if scenario.source is None or choice.form.name not in POLICIES.names():
        return f"simulate(scenario, {choice.label!r}, seed={seed}, run={run})"
    settings = {**scenario.settings, **settings}
    of_world = {path: value for path, value in settings.items() if steps_of(path)[0] != "policies"}
    policy = choice.label if len(of_world) == len(settings) else full_spec(choice)
    words = ["tpstream", "run", scenario.source, "--policy", policy, "--horizon", str(scenario.horizon)]
    for path, value in of_world.items():
        words += ["--set", f"{path}={toml_text(value)}"]
    for plugin in loaded_plugins():
        words += ["--plugin", str(plugin.path)]
    return shlex.join([*words, "--seed", str(seed), "--run", str(run)])


def full_spec(choice: PolicyChoice) -> str:
    """The policy with all its parameters, for a command that sets none: alone, it may have another number or rival."""
    given = choice.parameters.model_dump(mode="json", exclude_none=True)
    return policy_spec(choice.form.name, given)


@runtime_checkable
class Expecting(Protocol):
    """A progress that wants to know beforehand how many rounds there are."""

    def expect(self, rounds: int) -> None:
        """So many rounds are going to be told of."""
        ...


def make_plan(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None,
    sets: Mapping[str, Sequence[Any]],
    *,
    together: bool,
    runs: int,
    first: int,
    seed: int | None,
    rounds: Sequence[int],
    engine: EngineName,
    logs: Logs | None,
    sinks: Sequence[str] = (),
) -> Plan:
    """The plan; everything that can be wrong with it is found here."""
    if runs < 1:
        raise StudyError(f"runs must be at least 1, got {runs}")
    if first < 0:
        raise StudyError(f"the first run must be at least 0, got {first}")
    if logs is not None:
        check_streams(logs.form)
    seed, asked = scenario.seed if seed is None else seed, request_policies(scenario, policies)
    chosen = tuple(sorted(set(rounds)))
    cells = make_cells(scenario, asked, sets, seed, chosen, together=together)
    heard = tuple(choose_sink(sink) for sink in sinks)
    span = range(first, first + runs)
    plan = Plan(scenario, tuple(asked), sets, together, cells, seed, span, chosen, engine, logs, heard)
    _ = plan.compiled  # an engine that cannot serve is an error
    return plan


def run_study(
    plan: Plan, *, jobs: int, folder: Path | None, executor: Executor | None, progress: Progress | None
) -> list[Study]:
    """Do what is missing of the plan, and return the result of every cell."""
    if jobs < 1:
        raise StudyError(f"jobs must be at least 1, got {jobs}")
    with ExitStack() as stack:
        plan = plan if folder is None else open_folder(folder, plan)
        store = stack.enter_context(Store(folder))
        tasks = list_tasks(plan, store.finished)
        _check_logs(plan, tasks)
        _tell_beforehand(plan, tasks, progress, folder)
        chunker = Chunker(tasks, plan, count_workers(executor) if executor else jobs)
        spawn = jobs > 1 and can_spawn(entrant for cell in plan.cells for entrant in cell.entrants)
        if jobs > 1 and executor is None and not (spawn or plan.compiled):
            logger().warning("only one core is used", remedy='put the call under if __name__ == "__main__":')
        outcomes = work(
            chunker, progress, executor=executor, jobs=min(jobs, len(tasks)), compiled=plan.compiled, spawn=spawn
        )
        for some in stack.enter_context(closing(outcomes)):
            store.keep(some)
        return [_result(plan, cell, store) for cell in plan.cells]


def refuse_if_all_failed(studies: Sequence[Study]) -> None:
    """Raise if no run of any study was finished: there is nothing to show."""
    if not any(len(records) for study in studies for records in study.records.values()):
        failures = [failure for study in studies for failure in study.failures]
        raise StudyError(f"{failures[0]} (and so did all {len(failures)} runs)")


def _tell_beforehand(plan: Plan, tasks: Sequence[Task], progress: Progress | None, folder: Path | None) -> None:
    """Say how much there is to do, and how much of it was done by an earlier command."""
    horizons = {entrant.entry: cell.site.scenario.horizon for cell in plan.cells for entrant in cell.entrants}
    total = sum(horizons.values()) * len(plan.runs)
    missing = sum(len(task.entrants) * task.site.scenario.horizon for task in tasks)
    if isinstance(progress, Expecting):
        progress.expect(total)
    if progress is not None and missing < total:
        progress(total - missing)
    if folder is not None:
        kept = len(horizons) * len(plan.runs) - sum(len(task.entrants) for task in tasks)
        logger(scenario=plan.scenario.name, seed=plan.seed).debug("study goes on", folder=str(folder), kept_runs=kept)


def _check_logs(plan: Plan, tasks: Sequence[Task]) -> None:
    """Raise before any run starts if its log could not be written after it."""
    logs = plan.logs
    if logs is None:
        return
    if logs.folder.exists() and not logs.folder.is_dir():
        raise LogError(f"{logs.folder}: is a file; give a folder for the logs")
    wanted = (logs.path(one.choice.label, task.run) for task in tasks for one in task.entrants)
    there = [log.name for log in wanted if log.exists()]
    if there and not logs.force:
        raise LogError(
            f"{logs.folder}: there is a log already, {there[0]}; choose another folder, or overwrite with --force"
        )


def _result(plan: Plan, cell: Cell, store: Store) -> Study:
    """What the store holds of a cell."""
    scenario, problem = cell.site.scenario, cell.site.scenario.problem()
    assert problem.means is not None  # noqa: S101 (a scenario knows its means)
    shape = len(cell.rounds), problem.arms
    failures = [
        FailedRun(
            scenario=titled(scenario.name, cell.settings),
            policy=entrant.choice.label,
            run=run,
            seed=plan.seed,
            reason=reason,
            repeat=how_to_repeat(plan.scenario, cell.settings, entrant.choice, plan.seed, run),
        )
        for entrant in cell.entrants
        for run, reason in store.failures(entrant.entry, plan.runs).items()
    ]
    records = {one.choice.label: store.records(one.entry, plan.runs, shape) for one in cell.entrants}
    path: Callable[[str, int], Path] | None = plan.logs.path if plan.logs else None
    return Study(
        name=titled(scenario.name, cell.settings),
        seed=plan.seed,
        arms=problem.names,
        means=problem.means,
        rounds=cell.rounds,
        chosen=np.unique([*plan.rounds, scenario.horizon]),
        records=records,
        logs={label: [path(label, int(run)) for run in of.runs] if path else [] for label, of in records.items()},
        failures=tuple(failures),
    )


def titled(name: str, settings: Mapping[str, Any]) -> str:
    """The scenario's name with what a cell of a sweep sets."""
    return " ".join([name, *(f"{path}={value}" for path, value in settings.items())])


__all__ = ["compare", "default_jobs"]


def compare(
    scenario: Scenario,
    policies: Sequence[str | PolicyForm] | None = None,
    *,
    runs: int = 10,
    first: int = 0,
    seed: int | None = None,
    jobs: int = 1,
    engine: EngineName = "auto",
    rounds: Sequence[int] = (),
    logs: str | Path | None = None,
    log_format: str = "jsonl",
    log_detail: Detail = "all",
    force: bool = False,
    sinks: Sequence[str] = (),
    baselines: bool = False,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Study:
    """Run every policy (default: those of the scenario) `runs` times on common random numbers.

    `jobs` is the number of cores to use; a program needs the usual guard of its main part for it. Instead, `executor`
    is any executor of pieces, e.g. a Dask client's. `folder` keeps every finished run, so that the same call goes on
    where it was interrupted, and gets the result files. `rounds` are rounds, besides the last, at which results are
    given; `first` is the number of the first run. `logs` is the folder in which every run leaves its event log, in
    the form of `log_format` (jsonl or arrow) and with as much as `log_detail` says (see `simulate`); `sinks`, as in
    "name:key=value", hear every run, too. `baselines` adds the clairvoyant and the waiting policy (`ucb1` and
    `delayed-ucb1`) where they are missing, so that `Study.value` can tell what partial information is worth. A run
    that fails is in `failures`; if all fail, that is an error.
    """
    if baselines:
        policies = with_kinds(scenario, policies, [CLAIRVOYANT, WAITING])
    place = None if folder is None else Path(folder)
    plan = make_plan(
        scenario,
        policies,
        {},
        together=False,
        runs=runs,
        first=first,
        seed=seed,
        rounds=rounds,
        engine=engine,
        logs=None if logs is None else Logs(Path(logs), log_format, log_detail, force),
        sinks=sinks,
    )
    (study,) = run_study(plan, jobs=jobs, folder=place, executor=executor, progress=progress)
    refuse_if_all_failed([study])
    if place is not None:
        export(place, study)
    return study
