"""A scenario in words, as `tpstream validate` prints it and reports quote it."""

from collections.abc import Sequence

import msgspec

from tpstream.analysis.printed import amount
from tpstream.analysis.regret import no_best_arm
from tpstream.model.display import counted, listed
from tpstream.model.units import count_of
from tpstream.rewards.trace import TraceArm, uncertain_lead
from tpstream.scenario.policy_choice import PolicyChoice
from tpstream.scenario.scenario import Scenario
from tpstream.scenario.warnings import describe_duration, find_warnings

WORDS = "A pull is one decision, e.g. a patient or a customer; a part is one payment, visit or other result of it."
"""What two words mean that every description uses."""


class Description(msgspec.Struct, frozen=True):
    """A scenario in words, as plain values, so that a study's folder can keep it."""

    size: str
    """How many arms and rounds there are."""
    duration: str
    """How long a pull pays: a sentence."""
    kinds: str
    """Which kinds of rewards, arrivals and delays are used, and the window."""
    arms: list[dict[str, str]]
    """A row for each arm."""
    notes: list[str]
    """What a reader should know: that there is no best arm, or that it is not sure which one it is."""
    warnings: list[str]
    """What is possible but probably not meant."""


def describe_scenario(scenario: Scenario, choices: Sequence[PolicyChoice]) -> Description:
    """The scenario in words, with warnings about these policies in it.

    Raises what a run would raise if pulls cannot be drawn.
    """
    world, problem = scenario.build_world(scenario.seed, 0), scenario.problem()
    duration = describe_duration(world, scenario.time_unit)
    rows = [
        {"arm": name, "mean": amount(mean, ".6g", 1e5), "maximum": amount(maximum, ".6g", 1e5)}
        for name, mean, maximum in zip(problem.names, scenario.means, problem.maxima, strict=True)
    ]
    recorded = [arm for arm in world.rewards.arms if isinstance(arm, TraceArm)]
    for row, arm in zip(rows, recorded, strict=False):
        row |= {"rows": f"{len(arm.rows):,}", "standard error of the mean": amount(arm.standard_error, ".3g", 1e5)}
    design = scenario.design()
    if design is not None and problem.endpoint is not None and not problem.endpoint.plain:
        for row, mean in zip(rows, design.means.tolist(), strict=True):
            row["mean endpoint"] = amount(mean, ".6g", 1e5)
    tied = no_best_arm(problem.names, scenario.means)
    uncertain = uncertain_lead(problem.names, recorded) if recorded and tied is None else None
    return Description(
        size=f"{counted(problem.arms, 'arm')}, {counted(problem.horizon, 'round')}",
        duration=f"{duration[0].upper()}{duration[1:]}.",
        kinds=_kinds(scenario),
        arms=rows,
        notes=[note for note in (tied, uncertain) if note is not None],
        warnings=find_warnings(world, choices, scenario.time_unit, design),
    )


def _kinds(scenario: Scenario) -> str:
    """What is used of each kind, in short."""
    delays = listed([delay.kind for delay in scenario.delays]) or "none"
    window = [] if scenario.window is None else [f"Window: {count_of(scenario.window, scenario.time_unit)}."]
    shown = [] if scenario.reveal == "all" else [f"Feedback that is shown: {scenario.reveal}."]
    found = [f"Rewards: {scenario.rewards.kind}.", f"Arrivals: {scenario.arrivals.kind}.", f"Delays: {delays}."]
    return " ".join([*found, *window, *shown])
