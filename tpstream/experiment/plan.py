"""The plan of a study: its cells, and the runs of them that are still to be done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from tpstream.analysis.regret import checkpoints
from tpstream.engines.engine import select
from tpstream.experiment.identity import entry_of, hash_of, identify_policy, identify_world
from tpstream.experiment.worker import Logs, StudyPolicy, StudyWorld
from tpstream.model.arrays import Ints
from tpstream.model.errors import PolicyError, ScenarioError, StudyError
from tpstream.policies.base import PolicyForm
from tpstream.run.sinks import SinkChoice
from tpstream.scenario.overrides import Setting, set_key, set_parameter, steps_of
from tpstream.scenario.policy_choice import PolicyRequest, request_policies
from tpstream.scenario.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Cell:
    """One point of a study: what was set, the world that this makes, and the policies in it."""

    settings: Mapping[str, Any]
    site: StudyWorld
    entrants: tuple[StudyPolicy, ...]
    rounds: Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that a study is going to do."""

    scenario: Scenario
    asked: tuple[PolicyRequest, ...]
    sets: Mapping[str, Sequence[Any]]
    together: bool
    cells: tuple[Cell, ...]
    seed: int
    runs: range
    rounds: tuple[int, ...]
    engine: str
    logs: Logs | None
    sinks: tuple[SinkChoice, ...] = ()
    """Besides the logs; they hear the runs that are done now, not those that a folder keeps."""

    @property
    def compiled(self) -> bool:
        """Whether every run is one of the compiled engine, which leaves other threads alone."""
        return all(
            select(self.engine, entrant.choice.form, cell.site.scenario.timing()) == "compiled"
            for cell in self.cells
            for entrant in cell.entrants
        )


@dataclass(frozen=True, eq=False)
class Task:
    """One run of one world, under the policies for which it is not done yet."""

    site: StudyWorld
    entrants: tuple[StudyPolicy, ...]
    rounds: Ints
    run: int
    group: tuple[str, ...] = field(default=())
    """Tasks of one group can share a piece."""


def make_cells(
    scenario: Scenario,
    asked: Sequence[PolicyRequest],
    sets: Mapping[str, Sequence[Any]],
    seed: int,
    rounds: Sequence[int],
    *,
    together: bool = False,
) -> tuple[Cell, ...]:
    """A cell for each combination of values: all combinations, or the first of each set, the second of each, ..."""
    for path, values in sets.items():
        if not values:
            raise StudyError(f"sweep: {path}: has no values; give at least one")
    lengths = {len(values) for values in sets.values()}
    if together and len(lengths) > 1:
        told = ", ".join(f"{path} has {len(values)}" for path, values in sets.items())
        raise StudyError(f"sweep: sets that go together need equally many values; {told}")
    points = zip(*sets.values(), strict=True) if together else product(*sets.values())
    return tuple(
        make_cell(scenario, asked, [Setting(path, one) for path, one in zip(sets, point, strict=True)], seed, rounds)
        for point in points
    )


def make_cell(
    scenario: Scenario, asked: Sequence[PolicyRequest], settings: Sequence[Setting], seed: int, rounds: Sequence[int]
) -> Cell:
    """The cell with these settings."""
    here, policies = scenario, list(asked)
    try:
        changes = [setting for setting in settings if steps_of(setting.path)[0] != "policies"]
        if changes:
            keys = scenario.with_(policies=[]).resolved()  # those of the study are chosen below
            for setting in changes:
                set_key(keys, setting)
            here = Scenario.parse(keys, scenario.folder, source=scenario.source)
        for setting in settings:
            if setting not in changes:
                policies = set_parameter(policies, setting)
        problem = here.problem()
        choices = [one.choose(problem) for one in policies]
    except (ScenarioError, PolicyError) as error:
        if not settings:
            raise
        raise StudyError(f"sweep: with {', '.join(map(str, settings))}: {error}") from None
    site, counted = StudyWorld(here, hash_of(identify_world(here))), counted_rounds(here.horizon, rounds)
    entrants = [
        StudyPolicy(entry_of(site.identity, identify_policy(choice), seed, counted.tolist()), choice)
        for choice in choices
    ]
    return Cell({setting.path: setting.value for setting in settings}, site, tuple(entrants), counted)


def changed(scenario: Scenario, policies: Sequence[str | PolicyForm] | None, settings: Sequence[Setting]) -> Scenario:
    """The scenario with these settings, which lists the policies that are asked for as they are then."""
    cell = make_cell(scenario, request_policies(scenario, policies), settings, 0, ())
    choices = [entrant.choice for entrant in cell.entrants]
    tables = [
        {"kind": choice.form.name, "name": choice.label, **choice.parameters.model_dump(mode="json")}
        for choice in choices
    ]
    return cell.site.scenario.with_(policies=tables).noted(cell.settings)


def counted_rounds(horizon: int, rounds: Sequence[int]) -> Ints:
    """The rounds up to which pulls are counted: those of every curve, and those that were asked for."""
    for one in rounds:
        if not 1 <= one <= horizon:
            raise StudyError(f"rounds: {one} is not from 1 to the horizon {horizon}; leave it out")
    return np.unique(np.concatenate([checkpoints(horizon), np.array(rounds, dtype=np.int64)]))


def list_tasks(plan: Plan, finished: Callable[[str], set[int]]) -> list[Task]:
    """What is to be done, world by world; policies of several cells that share a world share its runs."""
    worlds: dict[str, tuple[Cell, dict[str, StudyPolicy]]] = {}
    for cell in plan.cells:
        entrants = worlds.setdefault(cell.site.identity, (cell, {}))[1]
        entrants.update({one.entry: one for one in cell.entrants if one.entry not in entrants})
    tasks = []
    for cell, entrants in worlds.values():
        done = {entry: finished(entry) for entry in entrants}
        for run in plan.runs:
            missing = tuple(
                one for one in entrants.values() if run not in done[one.entry] or _lacks_log(plan, one, run)
            )
            if missing:
                group = tuple(one.entry for one in missing)
                tasks.append(Task(cell.site, missing, cell.rounds, run, group))
    return tasks


def _lacks_log(plan: Plan, entrant: StudyPolicy, run: int) -> bool:
    return plan.logs is not None and not plan.logs.path(entrant.choice.label, run).exists()
