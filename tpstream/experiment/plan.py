"""The plan of a study: the worlds and policies of its cells, and the runs that are still to be done.

These are done in chunks, some runs of some policies in one world, which can be sent to other processes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

from tpstream.engines.engine import select
from tpstream.experiment.store import hash_of, identify_world, result_key
from tpstream.model.arrays import Ints
from tpstream.model.errors import PolicyError, ScenarioError, StudyError
from tpstream.model.limits import MOST_RUNS
from tpstream.model.notes import package_versions
from tpstream.policies.base import PolicyForm
from tpstream.run.loop import counted_rounds
from tpstream.run.options import RunOptions
from tpstream.scenario.overrides import Labelled, Setting, set_key, set_parameter, sets_policies, steps_of
from tpstream.scenario.plugins import Plugin, load_elsewhere, loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice, PolicyRequest, PolicySpec, request_policies
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import find_policy

FIXED = {"seed": "runs differ by their number; ask for more --runs", "name": "it changes no result"}
"""Keys that a sweep cannot vary, and why."""


@dataclass(frozen=True)
class StudyPolicy:
    """A policy in a world, with the key under which its results are kept."""

    result_key: str
    choice: PolicyChoice

    def __reduce__(self) -> tuple[Any, ...]:
        """A policy that has a name is sent by its name: compiled code stays where it is."""
        form: str | PolicyForm = self.choice.form.name if self.choice.named else self.choice.form
        parameters = self.choice.parameters.model_dump(mode="json")
        return _receive_policy, (loaded_plugins(), self.result_key, self.choice.label, form, parameters)


def _receive_policy(
    plugins: tuple[Plugin, ...], result_key: str, label: str, form: str | PolicyForm, parameters: Mapping[str, Any]
) -> StudyPolicy:
    load_elsewhere(plugins)
    form = find_policy(form) if isinstance(form, str) else form
    chosen = form.parameters(**parameters)
    return StudyPolicy(result_key, PolicyChoice(label, form.for_parameters(chosen), chosen))


@dataclass(frozen=True)
class StudyWorld:
    """A scenario, and the hash of all that its numbers depend on besides policy, seed and run."""

    scenario: Scenario
    identity: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what the world is made of; other processes build it once and keep it, since a recording may be large."""
        scenario = self.scenario
        recipe = (self.identity, json.dumps(scenario.resolved()), scenario.folder, scenario.source)
        return _receive_world, (loaded_plugins(), package_versions(), *recipe)


def _receive_world(plugins: tuple[Plugin, ...], versions: Mapping[str, str], *recipe: Any) -> StudyWorld:
    load_elsewhere(plugins)
    here = package_versions()
    others = [f"{name} {here[name]} instead of {versions[name]}" for name in versions if here[name] != versions[name]]
    if others:
        raise StudyError(f"a worker has {', '.join(others)}; install the same versions everywhere")
    return _build_world(*recipe)


@lru_cache(maxsize=8)
def _build_world(identity: str, keys: str, folder: Path, source: str | None) -> StudyWorld:
    scenario = Scenario.parse(json.loads(keys), folder, source=source)
    if hash_of(identify_world(scenario)) != identity:
        raise StudyError(f"{scenario.name}: a file or a plug-in is another one on a worker; copy it there")
    return StudyWorld(scenario, identity)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some runs of some policies in one world: what a worker does at a time."""

    world: StudyWorld
    policies: tuple[StudyPolicy, ...]
    runs: tuple[int, ...]
    seed: int
    rounds: Ints
    """The rounds up to which pulls are counted."""
    options: RunOptions

    @property
    def keys(self) -> tuple[str, ...]:
        """The result keys of its policies."""
        return tuple(policy.result_key for policy in self.policies)

    @property
    def total_rounds(self) -> int:
        """The rounds of all its runs and policies together."""
        return len(self.runs) * len(self.policies) * self.world.scenario.horizon


@dataclass(frozen=True, eq=False)
class Cell:
    """One point of a study: what was set, the world that this makes, and the policies in it."""

    settings: Mapping[str, Any]
    shown: Mapping[str, Any]
    """The same as tables show it: the label of a value that has one."""
    world: StudyWorld
    policies: tuple[StudyPolicy, ...]
    rounds: Ints
    """The rounds up to which pulls are counted."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that a study is going to do."""

    scenario: Scenario
    requests: tuple[PolicyRequest, ...]
    sets: Mapping[str, Sequence[Any]]
    cells: tuple[Cell, ...]
    seed: int
    runs: range
    rounds: tuple[int, ...]
    """The rounds, besides the last, at which results were asked for."""
    options: RunOptions
    compiled: bool
    """Whether the compiled engine serves every policy in every cell."""


def make_plan(
    scenario: Scenario,
    policies: Sequence[PolicySpec] | None,
    runs: range,
    seed: int | None,
    rounds: Sequence[int],
    options: RunOptions,
    sets: Mapping[str, Sequence[Any]] | None = None,
    *,
    together: bool = False,
) -> Plan:
    """The plan of a study; everything that can be wrong with what was asked for is found here."""
    if not runs:
        raise StudyError(f"runs must be at least 1, got {runs.stop - runs.start}")
    if runs.stop > MOST_RUNS:
        raise StudyError(f"runs up to number {runs.stop - 1:,} are asked for; numbers below {MOST_RUNS:,} are possible")
    if runs.start < 0:
        raise StudyError(f"the first run must be at least 0, got {runs.start}")
    seed, requests = scenario.seed if seed is None else seed, request_policies(scenario.policies, policies)
    options = options.of_policies(one.label for one in requests)
    chosen, sets = tuple(sorted(set(rounds))), sets or {}
    measurer = None if options.measurer is None else options.measurer.name
    cells = tuple(
        make_cell(scenario, requests, settings, seed, chosen, measurer) for settings in points(sets, together=together)
    )
    compiled = all(
        select(options.engine, policy.choice.form, cell.world.scenario.timing()) == "compiled"
        for cell in cells
        for policy in cell.policies
    )
    return Plan(scenario, tuple(requests), sets, cells, seed, runs, chosen, options, compiled)


def points(sets: Mapping[str, Sequence[Any]], *, together: bool) -> list[dict[str, Any]]:
    """The settings of each cell: all combinations of values, or the first of each set, the second of each, ..."""
    for path, values in sets.items():
        key = steps_of(path)[0]
        if key in FIXED:
            raise StudyError(f"{path}: cannot be varied: {FIXED[key]}")
        if not values:
            raise StudyError(f"{path}: has no values; give at least one")
    if together and len({len(values) for values in sets.values()}) > 1:
        told = ", ".join(f"{path} has {len(values)}" for path, values in sets.items())
        raise StudyError(f"sets that go together need equally many values; {told}")
    found = zip(*sets.values(), strict=True) if together else product(*sets.values())
    return [dict(zip(sets, values, strict=True)) for values in found]


def make_cell(
    scenario: Scenario,
    requests: Sequence[PolicyRequest],
    values: Mapping[str, Any],
    seed: int,
    rounds: Sequence[int],
    measurer: str | None = None,
) -> Cell:
    """The cell with these values, some of which may have labels."""
    settings = {path: value.value if isinstance(value, Labelled) else value for path, value in values.items()}
    shown = {path: value.label if isinstance(value, Labelled) else value for path, value in values.items()}
    here, choices = apply_settings(scenario, requests, settings)
    world, counted = StudyWorld(here, hash_of(identify_world(here))), counted_rounds(here.horizon, rounds)
    keys = [result_key(world.identity, choice, seed, counted.tolist(), measurer) for choice in choices]
    return Cell(settings, shown, world, tuple(map(StudyPolicy, keys, choices)), counted)


def apply_settings(
    scenario: Scenario, requests: Sequence[PolicyRequest], values: Mapping[str, Any]
) -> tuple[Scenario, list[PolicyChoice]]:
    """The scenario and the policies with these values of keys and of parameters."""
    settings = [Setting(path, value) for path, value in values.items()]
    here, policies = scenario, list(requests)
    try:
        changes = [setting for setting in settings if not sets_policies(setting)]
        if changes:
            keys = {**scenario.resolved(), "policies": []}  # those of the study are chosen below
            for setting in changes:
                set_key(keys, setting)
            here = Scenario.parse(keys, scenario.folder, source=scenario.source)
        for setting in settings:
            if setting not in changes:
                policies = set_parameter(policies, setting)
        choices = [one.choose(here.problem(), here.folder) for one in policies]
        if here.trial is not None:
            from tpstream.run.looks import refuse_fixed_arms  # noqa: PLC0415 (it loads SciPy, for trials only)

            refuse_fixed_arms(here.design(), here.problem(), choices)
    except (ScenarioError, PolicyError) as error:
        if not settings:
            raise
        raise StudyError(f"with {', '.join(map(str, settings))}: {error}") from None
    return here.noted({**scenario.settings, **values}), choices


def list_work(plan: Plan, finished: Callable[[str, range], set[int]]) -> list[Chunk]:
    """What is to be done, consecutive runs that lack the same policies together.

    Policies of several cells that share a world share its runs; `finished` tells the runs that a result key has.
    One policy under two names is run once, unless each name has logs of its own.
    """
    work, log = [], plan.options.log
    worlds: dict[str, tuple[Cell, dict[tuple[str, str], StudyPolicy]]] = {}
    for cell in plan.cells:
        policies = worlds.setdefault(cell.world.identity, (cell, {}))[1]
        for one in cell.policies:
            policies.setdefault((one.result_key, one.choice.label if log else ""), one)
    options = replace(plan.options, progress=None)  # it need not be fit to be sent to another process
    for cell, policies in worlds.values():
        done = {key: finished(key, plan.runs) for key, _ in policies}
        missing = {
            run: tuple(
                one
                for (key, _), one in policies.items()
                if run not in done[key] or (log and not log.path(one.choice.label, run).exists())
            )
            for run in plan.runs
        }
        for lacking, runs in groupby(plan.runs, missing.__getitem__):
            if lacking:
                work.append(Chunk(cell.world, lacking, tuple(runs), plan.seed, cell.rounds, options))
    return work
