"""Finding the threshold of a rule at which a design has the error rate that is wanted.

Where the threshold is that of the only rule of superiority, the trials are simulated once, with a threshold that is
never reached. What happens before a crossing does not depend on the threshold, so the statistics of all looks tell for
every threshold which trials would have claimed what. In all other cases the threshold is bisected: the same trials,
with the same random numbers, are simulated with one threshold after the other. Both take it that the error rate falls
(or rises) with the threshold.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tpstream.analysis.columns import TABLES
from tpstream.analysis.intervals import NORMAL_QUANTILE
from tpstream.looks.design import Design
from tpstream.model.arrays import Bools
from tpstream.model.display import Displayed, Summary
from tpstream.model.errors import ScenarioError, StudyError, did_you_mean
from tpstream.run.options import RunKeywords, RunOptions, run_options
from tpstream.scenario.overrides import Setting, set_key
from tpstream.scenario.policy_choice import PolicySpec
from tpstream.scenario.scenario import Scenario
from tpstream.trial.crossings import Crossings
from tpstream.trial.decisions import SimulatedTrials
from tpstream.trial.monte_carlo import Estimate, share_of
from tpstream.trial.simulated import simulate_designs
from tpstream.trial.truths import Truths

FALLING = ("type1", "superiority", "power")
"""What falls with the threshold of superiority, and can be read off stored statistics."""
NEVER = {"posterior": math.nextafter(1.0, 0.0), "fisher": 5e-324}
"""Thresholds that are reached by nothing but certainty; of z any large number."""
BETWEEN = {"probability": (0.5, 0.99999), "p": (1e-5, 0.5), "z": (0.0, 8.0), "alpha": (1e-5, 0.5)}
"""The smallest and largest threshold that are tried, by what the threshold is of."""
MOST_STEPS = 16
NARROW = 1e-5
"""Bisection ends when its bracket is this narrow, relative to where it began."""
NEAR = 0.25
"""Bisection also ends when the rate is nearer to the target than this share of its Monte Carlo error."""
MIRROR = "1-"
"""Before a key: it gets one minus the value of the first key."""


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """The threshold that `calibrate` found, and how sure it is.

    Parameters
    ----------
    key, target, wanted : str, str and float
        What was set, and which operating characteristic was to be how large.
    value : float
        The threshold.
    low, high : float
        The 95 % interval of the threshold: where it would be if the simulated trials had other random numbers. It holds
        the thresholds whose rate is within the Monte Carlo error of the target; of a bisection, by straight lines
        between those that were tried.
    found : Estimate
        The rate in the trials in which the threshold was looked for.
    confirmed : Estimate
        The rate in fresh trials, which had no part in the search: the honest one.
    trials : int
        How many trials were simulated in all.
    method : str
        "stored statistics" or "bisection".
    steps : tuple of (float, float)
        The thresholds that were tried, and the rate of each.

    Examples
    --------
    >>> from tpstream import Scenario, calibrate
    >>> scenario = Scenario(
    ...     name="responses", horizon=60, span=1, drain=True, rewards={"kind": "binary"},
    ...     policies=[{"kind": "uniform"}],
    ...     arms=[{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.6}],
    ...     trial={"control": "standard", "rules": [{"kind": "superiority", "threshold": 0.98}]},
    ... )
    >>> found = calibrate(scenario, "type1=0.1", runs=100, confirm=50, seed=1)
    >>> found.method, found.found.value <= 0.1, found.confirmed.trials
    ('stored statistics', True, 50)
    """

    key: str
    target: str
    wanted: float
    value: float
    low: float
    high: float
    found: Estimate
    confirmed: Estimate
    trials: int
    method: str
    steps: tuple[tuple[float, float], ...] = ()

    def _summary(self) -> Summary:
        sure = f" (95 % interval {self.low:.6g} to {self.high:.6g})"
        rows = [
            {"": name, self.target: f"{one.value:.4f}", "error": f"{one.error:.4f}", "trials": f"{one.trials:,}"}
            for name, one in (("in the search", self.found), ("confirmed", self.confirmed))
        ]
        return Summary(
            f"{self.key} = {self.value:.6g}{sure} for {self.target} = {self.wanted:g}",
            (f"by {self.method}", f"{self.trials:,} trials simulated in all"),
            rows,
        )


def calibrate(
    scenario: Scenario | str | Path | Mapping[str, Any],
    target: str,
    key: str | Sequence[str] = "trial.superiority",
    policies: Sequence[PolicySpec] | None = None,
    *,
    runs: int = 10_000,
    confirm: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    truths: Truths | None = None,
    between: tuple[float, float] | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    **options: Unpack[RunKeywords],
) -> Calibration:
    """Find the threshold at which a design has the error rate that is wanted.

    Parameters
    ----------
    scenario
        A scenario with a table `[trial]`, as in `compare`.
    target
        Which operating characteristic is to be how large, as in "type1=0.025", "power=0.9" or "futility=0.5".
    key
        What is changed: "trial.superiority" is the threshold (or alpha) of the rule of superiority; or any path as in
        `sweep`, such as "trial.rules[0].threshold". Of several, all get the same value, those that begin with "1-" one
        minus it.
    policies, seed, jobs, executor
        As in `compare`.
    runs, confirm
        How many trials are simulated for the search, and how many fresh ones for the confirmation; by default as many.
    truths
        The one truth that the target is about; by default the null for "type1" and "final_type1", else what the
        scenario says.
    between
        Where a bisection looks for the threshold; by default 0.5 to 0.99999 for probabilities, 0.00001 to 0.5 for p
        values and errors that are spent, 0 to 8 for z.
    folder
        Keeps the finished trials, so that the same call goes on where it was interrupted: a folder inside it for each
        threshold that is tried, as `trial` makes one.
    **options
        `engine` and `progress`, as in `simulate`.

    Returns
    -------
    Calibration
        The threshold, its error, and the rate in fresh trials.

    Raises
    ------
    StudyError
        The target cannot be reached between the ends.

    Examples
    --------
    >>> from tpstream import calibrate
    >>> scenario = {
    ...     "name": "responses", "horizon": 60, "span": 1, "drain": True, "rewards": {"kind": "binary"},
    ...     "policies": [{"kind": "uniform"}],
    ...     "arms": [{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.6}],
    ...     "trial": {
    ...         "control": "standard",
    ...         "rules": [{"kind": "superiority", "method": "z", "threshold": 1.96}],
    ...     },
    ... }
    >>> found = calibrate(scenario, "type1=0.05", runs=200, seed=1)
    >>> 1.2 < found.value < 2.2, found.trials
    (True, 400)
    """
    world = Scenario.load(scenario)
    design = world.design()
    if design is None:
        raise ScenarioError(f"{world.name}: there is no design to calibrate; add a table [trial]")
    measure, wanted = read_target(target)
    truths = truths or (Truths(null=True, given=False) if measure in ("type1", "final_type1") else Truths())
    keys = [full_key(one, design) for one in ([key] if isinstance(key, str) else key)]
    place, asked = None if folder is None else Path(folder), run_options(None, **options)
    simulated = partial(_simulate, world, keys, policies, truths, measure)
    judge = partial(simulated, seed=seed, jobs=jobs, folder=place, executor=executor, options=asked)
    fresh = range(runs, runs + (runs if confirm is None else confirm))
    no_steps: tuple[tuple[float, float], ...] = ()
    rule = _only_rule(design, keys) if measure in FALLING else None
    if rule is not None:
        value, low, high, found, used = _by_statistics(judge, design, rule, measure, wanted, range(runs))
        method, steps = "stored statistics", no_steps
    else:
        value, found, steps = _by_bisection(judge, wanted, range(runs), between or _ends(design, keys[0]))
        low, high = interval_between(steps, wanted, runs)
        method, used = "bisection", runs * len(steps)
    confirmed = share_of(judge(value, fresh)[1])
    return Calibration(
        ", ".join(keys), measure, wanted, value, low, high, found, confirmed, used + len(fresh), method, steps
    )


def read_target(text: str) -> tuple[str, float]:
    """The measure and the value of "type1=0.025"."""
    name, equals, value = (part.strip() for part in text.partition("="))
    known = [column.name for column in TABLES["measures"] if column.unit == "share" and column.title]
    if name not in known:
        raise StudyError(
            f"--target {text}: {name!r} is no probability{did_you_mean(name, known)}; use {', '.join(known)}"
        )
    try:
        wanted = float(value)
    except ValueError:
        wanted = np.nan
    if not (equals and 0 < wanted < 1):
        raise StudyError(f"--target {text}: give a probability between 0 and 1, as in {name}=0.025")
    return name, wanted


def full_key(key: str, design: Design) -> str:
    """The path of a key; "trial.superiority" is short for the threshold, or the alpha, of that rule."""
    mirror, path = (MIRROR, key.removeprefix(MIRROR)) if key.startswith(MIRROR) else ("", key)
    kind = path.removeprefix("trial.")
    for rule in design.rules:
        if rule.kind == kind:
            end = "threshold" if rule.threshold is not None else "alpha" if rule.alpha is not None else "beta"
            return f"{mirror}trial.rules.{kind}.{end}"
    if kind in {"inferiority", "superiority", "equivalence", "futility"}:
        there = ", ".join(f"trial.{rule.kind}" for rule in design.rules) or "none"
        raise StudyError(f"--key {key}: the design has no rule of {kind}; it has {there}")
    return key


def _only_rule(design: Design, keys: Sequence[str]) -> int | None:
    """The number of the only rule of superiority, if the key is its threshold and nothing else is changed with it.

    Without a control an arm is also claimed when all others are inferior, whatever that threshold.
    """
    if design.control < 0 and any(rule.kind == "inferiority" for rule in design.rules):
        return None
    rules = [number for number, rule in enumerate(design.rules) if rule.kind == "superiority"]
    if len(rules) != 1 or len(keys) != 1 or design.rules[rules[0]].threshold is None:
        return None
    named = {"trial.rules.superiority.threshold", f"trial.rules[{rules[0]}].threshold"}
    return rules[0] if keys[0] in named else None


def _ends(design: Design, key: str) -> tuple[float, float]:
    """Where the values of a key are looked for."""
    if key.endswith((".alpha", ".beta")):
        return BETWEEN["alpha"]
    named = (
        rule
        for number, rule in enumerate(design.rules)
        if key.removeprefix(MIRROR).startswith((f"trial.rules.{rule.kind}.", f"trial.rules[{number}]."))
    )
    rule = next(named, None)
    if rule is None or rule.method == "posterior":
        return BETWEEN["probability"]
    return BETWEEN["p" if rule.method == "fisher" else "z"]


Judged = tuple[SimulatedTrials, Bools]


def _simulate(
    world: Scenario,
    keys: Sequence[str],
    policies: Sequence[PolicySpec] | None,
    truths: Truths,
    measure: str,
    value: float,
    runs: range,
    *,
    seed: int | None,
    jobs: int,
    folder: Path | None,
    executor: Executor | None,
    options: RunOptions,
) -> Judged:
    """The trials with this value of the keys, and in which of them the event of the measure happened."""
    changed = world.resolved()
    for key in keys:
        number = 1.0 - value if key.startswith(MIRROR) else value
        set_key(changed, Setting(key.removeprefix(MIRROR), number))
    scenario = Scenario.parse(changed, world.folder, source=world.source)
    found = simulate_designs(
        [scenario],
        policies,
        truths,
        runs=runs,
        seed=seed,
        jobs=jobs,
        folder=None if folder is None else folder / f"threshold-{float(value)}-run-{runs.start}",
        executor=executor,
        options=options,
    )
    if len(found.trials) != 1:
        names = ", ".join(f"{one.design} ({one.truth})" for one in found.trials)
        raise StudyError(f"{world.name}: calibrate under one truth and policy, got {names}; name one of them")
    trials, events = found.trials[0], found.trials[0].shares()
    if measure not in events:
        raise StudyError(
            f"{world.name}: there is no {measure} under {trials.truth}; name another truth, as in --effect"
        )
    return trials, events[measure]


def _by_statistics(
    judge: Callable[[float, range], Judged], design: Design, number: int, measure: str, wanted: float, runs: range
) -> tuple[float, float, float, Estimate, int]:
    """The smallest threshold whose rate is not above what is wanted, its interval, the rate, and the trials used."""
    rule = design.rules[number]
    trials, _ = judge(NEVER.get(rule.method, 1e12), runs)
    crossings = Crossings.of_trials(trials, rule, number, measure)
    spread = _spread(wanted, len(trials))
    strictest, value, loosest = (
        crossings.threshold(rate) for rate in (max(wanted - spread, 0.0), wanted, min(wanted + spread, 1.0))
    )
    low, high = sorted((crossings.sign * loosest, crossings.sign * strictest))
    return crossings.sign * value, low, high, share_of(crossings.events(value)), len(trials)


def _spread(wanted: float, trials: int) -> float:
    """Half of the 95 % interval of a rate in so many trials."""
    return NORMAL_QUANTILE * math.sqrt(wanted * (1 - wanted) / trials)


def interval_between(steps: Sequence[tuple[float, float]], wanted: float, trials: int) -> tuple[float, float]:
    """Between which values the rate is within its 95 % interval, by straight lines between those that were tried.

    An end of it that was not reached is the last value that was tried.

    Examples
    --------
    >>> found = interval_between([(0.0, 0.5), (1.0, 0.0), (0.5, 0.3)], 0.3, 100)
    >>> [round(end, 3) for end in found]
    [0.275, 0.65]
    """
    values, rates = np.array(sorted(steps)).T
    if rates[0] > rates[-1]:
        values, rates = values[::-1], rates[::-1]
    spread = _spread(wanted, trials)
    ends = np.interp([wanted - spread, wanted + spread], np.maximum.accumulate(rates), values)
    return float(ends.min()), float(ends.max())


def _by_bisection(
    judge: Callable[[float, range], Judged], wanted: float, runs: range, ends: tuple[float, float]
) -> tuple[float, Estimate, tuple[tuple[float, float], ...]]:
    """The value in the middle of the last bracket, the rate there, and all values that were tried."""
    tried: dict[float, Estimate] = {}

    def rate(value: float) -> float:
        tried[value] = share_of(judge(value, runs)[1])
        return tried[value].value

    low, high = ends
    at_low, at_high = rate(low), rate(high)
    if not min(at_low, at_high) <= wanted <= max(at_low, at_high):
        raise StudyError(
            f"{wanted:g} is not reached: the rate is {at_low:.4f} at {low:g} and {at_high:.4f} at {high:g}; give other "
            "ends (--between), or change the design"
        )
    falls, near = at_low > at_high, NEAR * math.sqrt(wanted * (1 - wanted) / len(runs))
    value = low
    for _ in range(MOST_STEPS):
        value = (low + high) / 2
        found = rate(value)
        if abs(found - wanted) <= near or high - low <= NARROW * (ends[1] - ends[0]):
            break
        low, high = (value, high) if (found > wanted) == falls else (low, value)
    return value, tried[value], tuple((at, one.value) for at, one in tried.items())
