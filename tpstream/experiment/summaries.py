"""What is to be known of each cell of a study besides its runs: plain values, which a study's folder keeps."""

import shlex
from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any, Self

import msgspec
import numpy as np

from tpstream.experiment.plan import Plan
from tpstream.looks.comparison import Comparison
from tpstream.looks.design import Design
from tpstream.looks.words import design_sentences
from tpstream.policies import POLICIES
from tpstream.scenario.files import toml_text
from tpstream.scenario.overrides import steps_of
from tpstream.scenario.plugins import loaded_plugins
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.tables import policy_spec

NUMBER = "@run@"
"""Stands for the number of the run in `PolicySummary.repeat`."""


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


def summarize_cells(plan: Plan, *, commands: bool) -> list[CellSummary]:
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
