"""Simulating designs with looks: every design under every truth, on common random numbers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tpstream.experiment.compare import (
    Expecting,
    refuse_if_all_failed,
    run_study,
)
from tpstream.experiment.folder import export
from tpstream.experiment.league_folder import note_league
from tpstream.experiment.live import found_superior
from tpstream.experiment.plan import Plan, make_plan
from tpstream.experiment.result import Study
from tpstream.experiment.runs import CellSummary, summarize_cells
from tpstream.experiment.store import RunResult, unpack
from tpstream.model.errors import StudyError
from tpstream.model.events import Events
from tpstream.model.names import file_names
from tpstream.model.world import World
from tpstream.run.options import Measures, Progress, RunOptions
from tpstream.scenario.overrides import Labelled
from tpstream.scenario.policy_choice import PolicySpec
from tpstream.scenario.scenario import Scenario
from tpstream.trial.decisions import SimulatedTrials, stack
from tpstream.trial.designs import DesignDescription, OperatingCharacteristics
from tpstream.trial.monte_carlo import share_of
from tpstream.trial.truths import GIVEN, Truths


class DesignMeasures:
    """Names a study of designs in its folder; what is measured of a run with looks, every such run reports."""

    name: ClassVar[str] = "design"

    @classmethod
    def of_world(cls, world: World) -> Self:  # noqa: ARG003 (all worlds alike)
        """A new one."""
        return cls()

    def hear(self, events: Events) -> None:
        """Nothing is needed of the events."""

    def values(self) -> Measures:
        """Nothing besides."""
        return {}


@dataclass
class ProgressSoFar:
    """The progress of several studies as one, with the share of trials so far that found an arm superior.

    The share is that of the design and truth that are simulated now.
    """

    progress: Progress | None
    total: int
    told: bool = False
    found: dict[str, list[bool]] = field(default_factory=dict)
    """Whether each trial found an arm superior, by the design and truth."""

    def expect(self, rounds: int) -> None:  # noqa: ARG002 (that of one study; the total is known)
        """Tell the total of all studies, once."""
        if not self.told and isinstance(self.progress, Expecting):
            self.progress.expect(self.total)
        self.told = True

    def __call__(self, rounds: int) -> None:
        """Take the rounds that were done."""
        if self.progress is not None:
            self.progress(rounds)

    def hear(self, results: Sequence[RunResult]) -> None:
        """Take finished trials, and show the estimate so far where there is a place for it."""
        say = getattr(self.progress, "say", None)
        if say is None:
            return
        for one in results:
            if one.failure is None:
                self.found.setdefault(one.result_key, []).append(found_superior(unpack(one.measures)))
        last = self.found.get(results[-1].result_key) if results else None
        if last:
            share = share_of(np.array(last, dtype=np.bool_))
            say(f"superiority {share.value:.1%} ± {share.error:.1%} of {share.trials:,} trials")


def simulate_designs(
    scenarios: Sequence[Scenario],
    policies: Sequence[PolicySpec] | None,
    truths: Truths,
    *,
    runs: range,
    seed: int | None,
    jobs: int,
    folder: Path | None,
    executor: Executor | None,
    options: RunOptions,
) -> OperatingCharacteristics:
    """Simulate every design under every truth, and keep the results in the folder if there is one."""
    _check_designs(scenarios)
    seed = scenarios[0].seed if seed is None else seed
    plans = [make_design_plan(one, policies, truths, runs, seed, options) for one in scenarios]
    total = sum(len(cell.policies) * cell.world.scenario.horizon * len(runs) for plan in plans for cell in plan.cells)
    progress = ProgressSoFar(options.progress, total) if options.progress is not None else None
    places = file_names(one.name for one in scenarios)
    if folder is not None and len(plans) > 1:
        note_league(folder, list(places.values()), ())
    parts = []
    for plan in plans:
        place = folder if folder is None or len(plans) == 1 else folder / places[plan.scenario.name]
        asked = replace(plan, options=replace(plan.options, progress=progress))
        studies = run_study(asked, jobs=jobs, folder=place, executor=executor)
        refuse_if_all_failed(studies)
        worlds = [cell.world.scenario for cell in plan.cells]
        parts.append(gather(summarize_cells(plan, commands=False), studies, worlds))
    result = joined(parts)
    if folder is not None:
        export(folder, result.tables())
    return result


def joined(parts: Sequence[OperatingCharacteristics]) -> OperatingCharacteristics:
    """The results of several designs as one."""
    descriptions: dict[str, DesignDescription] = {}
    for part in parts:
        descriptions |= part.descriptions
    trials = [one for part in parts for one in part.trials]
    failures = tuple(failure for part in parts for failure in part.failures)
    return OperatingCharacteristics(trials, descriptions, parts[0].seed, failures)


def make_design_plan(
    scenario: Scenario,
    policies: Sequence[PolicySpec] | None,
    truths: Truths,
    runs: range,
    seed: int,
    options: RunOptions,
) -> Plan:
    """The plan of one design: a cell for each truth."""
    arms = truths.of(scenario)
    sets: Mapping[str, Sequence[Any]] = (
        {} if list(arms) == [GIVEN] else {"arms": [Labelled(label, table) for label, table in arms.items()]}
    )
    return make_plan(scenario, policies, runs, seed, (), replace(options, measurer=DesignMeasures), sets)


def gather(
    cells: Sequence[CellSummary], studies: Sequence[Study], scenarios: Sequence[Scenario] = ()
) -> OperatingCharacteristics:
    """The result of one scenario from the summaries and the studies of its truths."""
    name = cells[0].name.partition(" arms=")[0]
    several = len(cells[0].policies) > 1
    trials: list[SimulatedTrials] = []
    descriptions: dict[str, DesignDescription] = {}
    for cell, study in zip(cells, studies, strict=True):
        assert cell.trial is not None  # noqa: S101 (a study of designs)
        truth = str(cell.settings.get("arms", GIVEN))
        for policy, records in study.records.items():
            if not len(records):  # a study that was interrupted may not have begun with it
                continue
            design = f"{name}: {policy}" if several else name
            trials.append(stack(design, truth, cell.trial.comparison(cell.arms), cell.horizon, records))
            descriptions.setdefault(
                design,
                DesignDescription(cell.horizon, cell.trial.rules, cell.trial.time_unit, study.origin, {}, policy),
            )
    if scenarios:
        by_truth = {str(cell.settings.get("arms", GIVEN)): one for cell, one in zip(cells, scenarios, strict=True)}
        descriptions = {
            design: replace(description, scenarios=by_truth) for design, description in descriptions.items()
        }
    failures = tuple(failure for study in studies for failure in study.failures)
    return OperatingCharacteristics(trials, descriptions, studies[0].seed, failures)


def _check_designs(scenarios: Sequence[Scenario]) -> None:
    """Raise unless all scenarios have designs of the same arms, and names of their own."""
    for one in scenarios:
        if one.trial is None:
            raise StudyError(f"{one.name}: has no design to be compared with others; add a table [trial]")
    names = [one.name for one in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"{name}: two designs have this name; give each its own `name`")
    arms = {tuple(arm.name for arm in one.arms) for one in scenarios}
    if len(arms) > 1:
        told = " and ".join("/".join(one) for one in sorted(arms))
        raise StudyError(f"designs that are compared need the same arms, got {told}")
