"""Conducting a study: what is missing is done and kept, and what was kept becomes the result."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tpstream.engines.selection import EngineName
from tpstream.log.forms import check_streams
from tpstream.model.errors import LogError, StudyError
from tpstream.model.failed_run import FailedRun
from tpstream.model.story import story
from tpstream.policies.form import PolicyForm
from tpstream.study.asked import ask
from tpstream.study.crew import count_workers, work
from tpstream.study.cutter import Cutter
from tpstream.study.failures import how_to_repeat
from tpstream.study.folder import open_folder
from tpstream.study.piece import Logs, Progress
from tpstream.study.plan import Cell, Plan, Task, list_tasks, make_cells
from tpstream.study.result import Study
from tpstream.study.scenario import Scenario
from tpstream.study.sinks import choose_sink
from tpstream.study.spawning import can_spawn
from tpstream.study.store import Store


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
    seed, asked = scenario.seed if seed is None else seed, ask(scenario, policies)
    chosen = tuple(sorted(set(rounds)))
    cells = make_cells(scenario, asked, sets, seed, chosen, together=together)
    heard = tuple(choose_sink(sink) for sink in sinks)
    span = range(first, first + runs)
    plan = Plan(scenario, tuple(asked), sets, together, cells, seed, span, chosen, engine, logs, heard)
    _ = plan.compiled  # an engine that cannot serve is an error
    return plan


def conduct(
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
        cutter = Cutter(tasks, plan, count_workers(executor) if executor else jobs)
        spawn = jobs > 1 and can_spawn(entrant for cell in plan.cells for entrant in cell.entrants)
        if jobs > 1 and executor is None and not (spawn or plan.compiled):
            story().warning("only one core is used", remedy='put the call under if __name__ == "__main__":')
        outcomes = work(
            cutter, progress, executor=executor, jobs=min(jobs, len(tasks)), compiled=plan.compiled, spawn=spawn
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
        story(scenario=plan.scenario.name, seed=plan.seed).debug("study goes on", folder=str(folder), kept_runs=kept)


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
