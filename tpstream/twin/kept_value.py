"""What a learning policy earns, from the decisions of a log that it kept (twin/rejection.py), some of them still open.

Decision i of arm k was observed for C_i whole periods of age. Its total is what it paid in these, and for the others
the mean m_ka of what all logged decisions of its own arm paid at age a. (Means over the kept decisions alone would be
wrong: old ages are known from the policy's first decisions, which were worse.) The value V_r of replay r is the mean
total of the N_r decisions that it kept, and V the mean over R replays of the same log with other random numbers.

Error of decision i, averaged over replays: e_ir = [kept] (total_i - V_r) / N_r and, since means are estimated, the sum
over its observed ages of (x_ia - m_ka) / n_ka times the share of the kept decisions that have arm k and were not
observed at age a. The squares add up to the variance of V for decisions as they were taken.

But a policy that learns may be misled by chance, and take other decisions. How much that matters is seen in the
replays: their values vary by more than decisions that are kept or not at random, by D = var(V_r) - sum_i var(e_ir).
Replays of one log are not independent, since they keep the same decisions with some probability: if u is the share of
what a replay keeps that another one keeps, too, then D (1 / R + u / (1 - u)) is added to the variance, as in the
corrected resampled t-test of Nadeau and Bengio (2003).
"""

from collections.abc import Sequence

import numpy as np

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.twin.age_sums import AgeSums, divide
from tpstream.twin.weighted import Weighted

MOST_OVERLAP = 0.9
"""The largest u: where all replays keep the same, nothing is known of how they would differ."""


def kept_value(decisions: ArmAges, arm: Ints, arms: int, replays: Sequence[Bools], ages: int) -> Weighted:
    """The value of a policy within the first ages, from what it kept in each replay."""
    sums = AgeSums(decisions, arm, arms, ages)
    reached = sums.reached()
    means = divide(sums.paid(), reached)
    totals = sums.received(np.ones((arms, ages))) + sums.unseen(means)
    values, missing = np.zeros(len(replays)), np.zeros((arms, ages))
    own, squares, kept = (np.zeros(decisions.count) for _ in range(3))
    for number, rows in enumerate(replays):
        count = np.count_nonzero(rows)
        values[number] = totals[rows].mean()
        errors = (totals[rows] - values[number]) / count
        own[rows] += errors
        squares[rows] += errors**2
        kept[rows] += 1
        missing += (np.bincount(arm[rows], minlength=arms)[:, np.newaxis] - sums.reached(rows.astype(float))) / count
    repeats = len(replays)
    parts = divide(missing / repeats, reached)
    errors = own / repeats + sums.received(parts) - sums.seen(means * parts)
    learning = 0.0
    if repeats > 1:
        by_chance = (squares - own**2 / repeats).sum() / (repeats - 1)  # sum of var(e_ir)
        misled = max(float(values.var(ddof=1) - by_chance), 0.0)
        shared = overlap(kept / repeats)
        learning = misled * (1 / repeats + shared / (1 - shared))
    return Weighted(float(values.mean()), _widened(errors, learning))


def paid_so_far(decisions: ArmAges, replays: Sequence[Bools], ages: int) -> float:
    """What the kept decisions paid so far, as if nothing more would come."""
    within = decisions.age < ages
    paid = np.bincount(decisions.row[within], weights=decisions.amount[within], minlength=decisions.count)
    return float(np.mean([paid[rows].mean() for rows in replays]))


def overlap(kept: Floats) -> float:
    """The share of what a replay keeps that another one keeps, too, from how often each decision is kept."""
    return min(float((kept**2).sum() / kept.sum()), MOST_OVERLAP)


def _widened(errors: Floats, more: float) -> Floats:
    """The errors, enlarged so that their squares add up to that much more."""
    total = float(np.square(errors).sum())
    return errors * np.sqrt(1 + more / total) if total > 0 else errors
