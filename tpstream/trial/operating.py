"""Operating characteristics: from what each simulated trial came to, to probabilities, means and errors of estimates.

Every number has its Monte Carlo error (see monte_carlo.py). What is not defined under a truth, such as the power where
all arms are equally good, has no row.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tpstream.analysis.intervals import NORMAL_QUANTILE, paired_interval, paired_share_interval
from tpstream.looks.design import Reason
from tpstream.model.arrays import Bools, Floats
from tpstream.trial.decisions import CONCLUSIONS, OUTCOMES, RATES, SimulatedTrials
from tpstream.trial.monte_carlo import (
    FEW,
    Estimate,
    deviation_of,
    extreme_of,
    mean_of,
    quantile_of,
    root_mean_square_of,
    share_of,
)

QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}
SPREAD = ("patients", "duration", "overrun", *OUTCOMES.values())
"""Quantities of which the whole distribution is told."""
NO_ARM = ""
"""The arm of what is about a trial as a whole."""


class Characteristic(NamedTuple):
    """One operating characteristic: of which arm, what, and how large it is."""

    arm: str
    measure: str
    estimate: Estimate


def characteristics(trials: SimulatedTrials) -> list[Characteristic]:
    """All operating characteristics of a design under a truth: of the trial as a whole, then of each arm."""
    whole = [Characteristic(NO_ARM, name, estimate) for name, estimate in _of_trial(trials)]
    return whole + [
        Characteristic(arm, name, estimate)
        for number, arm in enumerate(trials.comparison.arms)
        for name, estimate in _of_arm(trials, number)
    ]


def _of_trial(trials: SimulatedTrials) -> Iterator[tuple[str, Estimate]]:
    for name, hits in trials.shares().items():
        yield name, share_of(hits)
    if trials.stopped.any():
        yield "reversed", share_of(trials.reversed)
    for name, values in trials.amounts().items():
        signed = {*OUTCOMES.values(), *RATES.values()}
        yield name, mean_of(values, least=-np.inf if name in signed else 0.0)
        if name in SPREAD:
            yield f"{name}_sd", deviation_of(values)
            yield f"{name}_min", extreme_of(values, largest=False)
            for word, level in QUARTILES.items():
                yield f"{name}_{word}", quantile_of(values, level)
            yield f"{name}_max", extreme_of(values, largest=True)
    yield from _of_selected(trials)


def _of_selected(trials: SimulatedTrials) -> Iterator[tuple[str, Estimate]]:
    """How good the estimate of the selected arm, whichever it is, and of its difference to the control are."""
    rows = np.flatnonzero(trials.selected >= 0)
    arms, control = trials.selected[rows], trials.comparison.control
    estimates, variances = (trials.measures[f"final_{name}"][rows] for name in ("estimate", "variance"))
    truths, each = np.array(trials.comparison.truths), np.arange(len(rows))
    yield from _quality("selected_", estimates[each, arms], variances[each, arms], truths[arms])
    if control is not None:
        others = np.flatnonzero(arms != control)
        arms, estimates, variances = arms[others], estimates[others], variances[others]
        each = np.arange(len(others))
        yield from _quality(
            "selected_difference_",
            estimates[each, arms] - estimates[:, control],
            variances[each, arms] + variances[:, control],
            truths[arms] - truths[control],
        )


def _of_arm(trials: SimulatedTrials, arm: int) -> Iterator[tuple[str, Estimate]]:
    of, chosen = trials.comparison, trials.chosen[:, arm]
    yield "selected", share_of(chosen)
    if of.false[arm] or of.true[arm]:
        error = "type1" if of.false[arm] else "power"
        yield error, share_of(trials.claims[:, arm])
        yield f"final_{error}", share_of(trials.final_claims[:, arm])
    for code, word in CONCLUSIONS.items():
        if code != Reason.MAXIMUM:
            yield word, share_of(trials.verdicts[:, arm] == code)
    patients = trials.measures["patients"][:, arm].astype(np.float64)
    yield "patients", mean_of(patients, least=0.0)
    with np.errstate(invalid="ignore"):
        yield "share", mean_of(patients / trials.size, 0.0, 1.0)
    yield OUTCOMES[of.higher], mean_of(np.asarray(trials.measures["outcome_sum"][:, arm], dtype=np.float64))
    for when in ("final", "stop"):
        before = "" if when == "final" else "stop_"
        estimates, variances = (trials.measures[f"{when}_{name}"] for name in ("estimate", "variance"))
        truth = np.full(len(trials), of.truths[arm])
        own = estimates[:, arm], variances[:, arm], truth
        yield from _quality(before, *own)
        yield from _quality(f"{before}selected_", *(values[chosen] for values in own))
        if of.control is not None and arm != of.control:
            gap = (
                estimates[:, arm] - estimates[:, of.control],
                variances[:, arm] + variances[:, of.control],
                truth - of.truths[of.control],
            )
            yield from _quality(f"{before}difference_", *gap)
            yield from _quality(f"{before}selected_difference_", *(values[chosen] for values in gap))


def _quality(before: str, estimates: Floats, variances: Floats, truths: Floats) -> Iterator[tuple[str, Estimate]]:
    """Bias, root mean square error and coverage of the 95 % interval, over the trials in which there is an estimate."""
    known = np.isfinite(estimates) & np.isfinite(variances) & np.isfinite(truths)
    errors = (estimates - truths)[known]
    yield f"{before}bias", mean_of(errors)
    yield f"{before}rmse", root_mean_square_of(errors)
    yield f"{before}coverage", share_of(np.abs(errors) <= NORMAL_QUANTILE * np.sqrt(variances[known]))


def contrasts(first: SimulatedTrials, second: SimulatedTrials) -> list[Characteristic]:
    """The first design minus the second, trial by trial on the same random numbers, in the trials that both have."""
    _, mine, others = np.intersect1d(first.runs, second.runs, return_indices=True)
    found = []
    beside = second.shares()
    for name, hits in first.shares().items():
        if name in beside:
            found.append(Characteristic(NO_ARM, name, _share_gap(hits[mine], beside[name][others])))
    amounts = second.amounts()
    for name, values in first.amounts().items():
        if name in amounts:
            found.append(Characteristic(NO_ARM, name, _mean_gap(values[mine], amounts[name][others])))
    return found


def _share_gap(one: Bools, other: Bools) -> Estimate:
    hits, others = one.astype(np.float64), other.astype(np.float64)
    gap, interval = hits - others, paired_share_interval(hits, others)
    error = float(gap.std() / np.sqrt(len(gap))) if len(gap) else np.nan
    return Estimate(float(interval.mean), error, float(interval.low), float(interval.high), len(gap))


def _mean_gap(one: Floats, other: Floats) -> Estimate:
    known = ~np.isnan(one - other)
    gap, interval = (one - other)[known], paired_interval(one[known], other[known])
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) >= FEW else np.nan
    return Estimate(float(interval.mean), error, float(interval.low), float(interval.high), len(gap))
