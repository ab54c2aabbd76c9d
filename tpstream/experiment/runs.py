"""The runs of a study: the measures of each, what follows from each alone, and what is to be known of their world."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.money import frame
from tpstream.analysis.regret import best_arms, no_best_arm, pseudo_regret
from tpstream.looks.comparison import Comparison
from tpstream.looks.design import Design
from tpstream.looks.words import design_sentences
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import StudyError, UnknownNameError
from tpstream.policies import POLICIES
from tpstream.run.options import Measures
from tpstream.scenario.files import toml_text
from tpstream.scenario.overrides import steps_of
from tpstream.scenario.plugins import loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import policy_spec

if TYPE_CHECKING:
    import pandas as pd

    from tpstream.experiment.folder import Origin
    from tpstream.experiment.plan import Plan
    from tpstream.experiment.store import PackedMeasures

NUMBER = "@run@"
"""Stands for the number of the run in `PolicySummary.repeat`."""


@dataclass(frozen=True)
class FailedRun:
    """One policy in one run: why it failed, and what repeats it alone."""

    scenario: str
    policy: str
    run: int
    seed: int
    reason: str
    repeat: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.policy} failed in run {self.run} with seed {self.seed}: {self.reason}"


def failures_table(failures: Sequence[FailedRun]) -> "pd.DataFrame":
    """The runs that failed, why, and how to repeat each alone; a row for each."""
    return frame([asdict(one) for one in failures], list(FailedRun.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Records:
    """The runs of one policy in one world: numbers, measures and seconds of the finished ones, and failures."""

    runs: Ints
    measures: "Sequence[Measures] | PackedMeasures"
    seconds: Floats
    failures: Mapping[int, str] = field(default_factory=dict)
    """Why runs failed, by number."""

    def measure(self, name: str) -> NDArray[Any]:
        """One measure of every run, stacked along a new first axis."""
        found = [self.measures[place][name] for place in range(len(self))]
        return np.stack(found) if found else np.empty(0)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, eq=False, repr=False)
class StudyRuns:
    """The finished runs of every policy in one world; `Study` says what its attributes are."""

    name: str
    seed: int
    arms: tuple[str, ...]
    means: Floats
    rounds: Ints
    chosen: Ints
    records: Mapping[str, Records]
    logs: Mapping[str, list[Path]]
    failures: tuple[FailedRun, ...] = ()
    currency: str | None = None
    round_title: str = "round"
    origin: "Callable[[], Origin] | None" = None
    _cache: dict[str, tuple[Floats, Ints]] = field(default_factory=dict, repr=False)

    def measure(self, policy: str, name: str) -> NDArray[Any]:
        """One measure of every run of a policy, along the first axis; "pulls" has the shape (runs, rounds, arms)."""
        return self._of(policy).measure(name)

    @property
    def counts(self) -> dict[str, Ints]:
        """Pulls of each arm up to each checkpoint, an array (runs, rounds, arms) by policy."""
        return {policy: records.measure("pulls") for policy, records in self.records.items()}

    @property
    def best(self) -> Bools:
        """Which arms have the largest mean."""
        return best_arms(self.means)

    @property
    def no_best_arm(self) -> str | None:
        """Why no arm is better than all others, in words; None if one is."""
        return no_best_arm(self.arms, self.means)

    @property
    def largest_regret(self) -> float:
        """The regret of a run that pulls the worst arm in every round: no interval of regret goes beyond it."""
        return float(self._largest_regrets[-1])

    @property
    def _largest_regrets(self) -> Floats:
        """The regrets of such a run at every checkpoint."""
        largest: Floats = self.rounds * (self.means.max() - self.means.min())
        return largest

    @property
    def _finished(self) -> list[str]:
        """The policies that have finished runs."""
        return [policy for policy, records in self.records.items() if len(records)]

    def regret(self, policy: str) -> Floats:
        """The pseudo-regret of every run (first axis) at every checkpoint (`rounds`)."""
        return self._regret_and_pulls(policy)[0]

    def pulled(self, policy: str) -> Ints:
        """Pulls of each arm up to the chosen rounds, of shape (runs, chosen, arms)."""
        return self._regret_and_pulls(policy)[1]

    def _regret_and_pulls(self, policy: str) -> tuple[Floats, Ints]:
        """Regret and pulls of every run, computed once and run by run: all counts together may be large."""
        if policy not in self._cache:
            records, places = self._of(policy), self._places(self.chosen)
            regret = np.empty((len(records), len(self.rounds)))
            pulls = np.empty((len(records), len(places), len(self.arms)), dtype=np.int64)
            for place in range(len(records)):
                counts = records.measures[place]["pulls"]
                regret[place], pulls[place] = pseudo_regret(counts, self.means), counts[places]
            self._cache[policy] = regret, pulls
        return self._cache[policy]

    def _number_names(self, policy: str) -> list[str]:
        """The names of the measures that are single numbers."""
        measures = self.records[policy].measures
        return [name for name, value in measures[0].items() if np.ndim(value) == 0] if len(measures) else []

    def _found_best(self, pulls: Ints) -> Bools:
        """Whether the most pulled arm (last axis) is a best one; a tie with another one is none."""
        most = pulls.max(axis=-1, keepdims=True)
        found: Bools = ~((pulls == most) & ~self.best).any(axis=-1)
        return found

    def _of(self, policy: str) -> Records:
        if policy not in self.records:
            raise UnknownNameError("policy of this study", policy, self.records)
        return self.records[policy]

    def _places(self, rounds: Ints) -> Ints:
        """Where these rounds are among the checkpoints."""
        unknown = [int(round) for round in rounds if round not in self.rounds]
        if unknown:
            raise StudyError(f"pulls were not counted up to round {unknown[0]}; ask for it with `rounds` or --rounds")
        return np.searchsorted(self.rounds, rounds)


class PolicySummary(msgspec.Struct, frozen=True):
    """A policy of a cell: its kind, the key of its results, and what repeats one of its runs alone."""

    kind: str
    result_key: str
    repeat: str
    groups: int | str | None = None
    """How many groups it assumes, if it assumes any."""


class TrialSummary(msgspec.Struct, frozen=True):
    """What the tables of a trial need to know of its design."""

    truths: list[float | None]
    """The true expectation of each arm's endpoint; None where it is not known."""
    control: int | None
    higher: bool
    against_all: bool
    rules: list[str]
    """The design in words."""
    time_unit: str | None

    @classmethod
    def of_scenario(cls, scenario: Scenario, design: Design) -> Self:
        """That of the design of this scenario."""
        of, time_unit = Comparison.of_design(design), scenario.time_unit
        truths = [truth if np.isfinite(truth) else None for truth in of.truths]
        rules = [*design_sentences(design, time_unit), *_allocation(scenario, design)]
        return cls(truths, of.control, of.higher, of.against_all, rules, time_unit)

    def comparison(self, arms: tuple[str, ...]) -> Comparison:
        """What the design compares."""
        truths = tuple(np.nan if truth is None else truth for truth in self.truths)
        return Comparison(arms, truths, self.control, self.higher, self.against_all)


class CellSummary(msgspec.Struct, frozen=True):
    """All that the tables of a cell need besides its runs, as plain values: what a study's folder keeps of it."""

    name: str
    settings: dict[str, Any]
    """What a sweep set in this cell, by path; the label of a value that has one."""
    arms: tuple[str, ...]
    means: list[float]
    horizon: int
    policies: dict[str, PolicySummary]
    currency: str | None = None
    """How amounts of money are written; None if rewards are not money."""
    round_title: str = "round"
    """What the axis of rounds is called."""
    maxima: list[float | None] | None = None
    """The largest reward of each arm; this and all below is what bounds of the theory need."""
    span: int = 0
    groups: int | None = None
    plain: bool = True
    """Whether the timing is that for which the bounds are proved."""
    trial: TrialSummary | None = None
    """Its design, if the scenario has one."""

    def check(self) -> None:
        """Raise ValueError if it does not say as much of each arm."""
        told: list[Sized] = [self.means, *([] if self.maxima is None else [self.maxima])]
        told += [] if self.trial is None else [self.trial.truths]
        if not self.arms or any(len(one) != len(self.arms) for one in told):
            raise ValueError(f"{self.name}: means, maxima or truths are not those of its {len(self.arms)} arms")


def _allocation(scenario: Scenario, design: Design) -> Iterator[str]:
    """How patients are allocated, in words, where the design says it."""
    table = scenario.trial.allocation if scenario.trial is not None else None
    if table is None or table.kind == "policy":
        return
    if table.kind == "fixed":
        ratio = ":".join(map(str, table.ratio or (1,) * design.arms))
        yield f"Patients are allocated in permuted blocks, in the ratio {ratio}."
        return
    parts = [f"to the power {table.power}"] if table.power not in (None, 1) else []
    parts += [f"the first {table.burn_in} patients get each arm equally likely"] if table.burn_in else []
    parts += [f"no probability is below {table.minimum:g}"] if table.minimum else []
    parts += [f"none is above {table.maximum:g}"] if table.maximum else []
    parts += [f"share of the control: {table.control_share}"] if table.control_share not in (None, "none") else []
    often = {None: "for each patient", 1: "for each patient", "patient": "for each patient", "look": "at each look"}
    parts.append(f"computed anew {often.get(table.update, f'every {table.update} patients')}")
    yield f"Patients are allocated by the posterior probability that an arm is the best: {'; '.join(parts)}."


def summarize_cells(plan: "Plan", *, commands: bool) -> list[CellSummary]:
    """What is to be known of each cell of a plan."""
    return [
        summarize(
            " ".join([plan.scenario.name, *(f"{path}={value}" for path, value in cell.shown.items())]),
            cell.world.scenario,
            cell.shown,
            [(one.choice, one.result_key) for one in cell.policies],
            plan.seed,
            commands=commands,
        )
        for cell in plan.cells
    ]


def summarize(
    name: str,
    scenario: Scenario,
    settings: Mapping[str, Any],
    policies: Sequence[tuple[PolicyChoice, str]],
    seed: int,
    *,
    commands: bool,
) -> CellSummary:
    """What is to be known of a cell; `policies` are those of it, each with the key of its results.

    Without `commands`, what repeats a run is left out: only failed runs need it.
    """
    problem, design = scenario.problem(), scenario.design()
    return CellSummary(
        name=name,
        settings=dict(settings),
        arms=problem.names,
        means=scenario.means.tolist(),
        horizon=scenario.horizon,
        currency=scenario.money,
        round_title=scenario.round_title,
        maxima=[None if np.isnan(maximum) else maximum for maximum in problem.maxima.tolist()],
        span=problem.span,
        groups=problem.groups,
        plain=scenario.timing().plain,
        trial=None if design is None else TrialSummary.of_scenario(scenario, design),
        policies={
            choice.label: PolicySummary(
                choice.form.name,
                key,
                how_to_repeat(scenario, choice, seed, NUMBER) if commands else "",
                getattr(choice.parameters, "groups", None),
            )
            for choice, key in policies
        },
    )


def how_to_repeat(scenario: Scenario, choice: PolicyChoice, seed: int, run: int | str) -> str:
    """A command that repeats one run alone; a call where scenario or policy exist in Python only."""
    if scenario.source is None or choice.form.name not in POLICIES.names():
        return f"simulate(scenario, {choice.label!r}, seed={seed}, run={run})"
    of_world = {path: value for path, value in scenario.settings.items() if steps_of(path)[0] != "policies"}
    if len(of_world) == len(scenario.settings):
        policy = choice.label
    else:  # a parameter was set: name all of them
        policy = policy_spec(choice.form.name, choice.parameters.model_dump(mode="json", exclude_none=True))
    words = ["tpstream", "run", scenario.source, "--policy", policy, "--horizon", str(scenario.horizon)]
    for path, value in of_world.items():
        words += ["--set", f"{path}={toml_text(value)}"]
    for plugin in loaded_plugins():
        words += ["--plugin", str(plugin.path)]
    return shlex.join([*words, "--seed", str(seed), "--run", str(run)])
