"""What a fixed allocation would pay, from decisions that were made with other probabilities and are still paying.

The allocation chooses arm k with probability pi_k; decision i was made with probability q_i, so w_i = pi(arm_i) / q_i
is the number of decisions of the allocation that it stands for. As in analysis/open_values.py, decision i was observed
for C_i whole periods of age and paid x_ia at age a, age a counts for the n_a decisions with C_i > a, p_a = n_a / n, and
the value is a sum over ages. Each estimate has an error f_i of every decision; the standard error is
sqrt(sum f_i^2) / n.

- Inverse propensity: v_a = mean over observed of w_i x_ia; f_i = sum over observed a of (w_i x_ia - v_a) / p_a.
- Self-normalised: v_a = sum w_i x_ia / sum w_i; f_i = sum of w_i (x_ia - v_a) / (p_a wbar_a), wbar_a the mean weight.
- Doubly robust: with m_ka the mean of what the decisions of arm k paid at age a, v_a = sum_k pi_k m_ka + mean over
  observed of w_i (x_ia - m_{arm_i, a}). The means are estimated as well: with d_ka = pi_k - the mean over observed of
  w_i [arm_i = k] and n_ka the decisions of arm k with C_i > a, f_i = sum of (x_ia - m_ka) (w_i / p_a + d_ka n / n_ka)
  for the arm k of i.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tpstream.analysis.open_values import ArmAges, skewed_interval
from tpstream.model.arrays import Floats, Ints
from tpstream.twin.age_sums import AgeSums, divide


@dataclass(frozen=True, eq=False)
class Weighted:
    """One estimate of what a decision of the other policy pays."""

    value: float
    errors: Floats
    """The error of every decision divided by their number, f_i / n; the squares add up to that of the value."""

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(np.square(self.errors).sum()))

    def interval(self) -> tuple[float, float]:
        """The 95 % interval, corrected for skewness."""
        return skewed_interval(self.value, self.errors)


def finished(decisions: ArmAges) -> ArmAges:
    """The same decisions as if nothing more would be paid, as an estimate that ignores open decisions takes them."""
    return replace(decisions, observed=np.full(decisions.count, decisions.periods))


def effective_size(weights: Floats) -> float:
    """The number of equally weighted decisions that would say as much: (sum w)^2 / sum w^2."""
    squares = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def weighted_values(
    decisions: ArmAges, arm: Ints, chance: Floats, allocation: Floats, ages: int
) -> Mapping[str, Weighted]:
    """The three estimates by name, from the arm and the probability of every decision, within the first ages."""
    weights = allocation[arm] / chance
    pooled = AgeSums(decisions, np.zeros_like(arm), 1, ages)
    by_arm = AgeSums(decisions, arm, len(allocation), ages)
    return {
        "inverse propensity": inverse_propensity(pooled, weights),
        "self-normalised": self_normalised(pooled, weights),
        "doubly robust": doubly_robust(pooled, by_arm, weights, allocation),
    }


def inverse_propensity(pooled: AgeSums, weights: Floats) -> Weighted:
    """The mean of what was paid times its weight."""
    reached = pooled.reached()
    curve, factors = pooled.paid(weights) / reached, pooled.count / reached  # v_a and 1 / p_a
    errors = weights * pooled.received(factors) - pooled.seen(curve * factors)
    return Weighted(float(curve.sum()), errors / pooled.count)


def self_normalised(pooled: AgeSums, weights: Floats) -> Weighted:
    """The weighted mean: divided by the sum of the weights instead of by the number of decisions."""
    totals = pooled.reached(weights)
    curve, factors = pooled.paid(weights) / totals, pooled.count / totals  # v_a and 1 / (p_a wbar_a)
    errors = weights * (pooled.received(factors) - pooled.seen(curve * factors))
    return Weighted(float(curve.sum()), errors / pooled.count)


def doubly_robust(pooled: AgeSums, by_arm: AgeSums, weights: Floats, allocation: Floats) -> Weighted:
    """The means of the arms by age, corrected by the weighted mean of what decisions paid beyond these."""
    reached, own = pooled.reached(), by_arm.reached()
    means = divide(by_arm.paid(), own)
    missing = allocation[:, np.newaxis] - by_arm.reached(weights) / reached  # d_ka
    curve = (missing * means).sum(axis=0) + pooled.paid(weights)[0] / reached[0]
    shares, parts = np.broadcast_to(pooled.count / reached, own.shape), divide(missing * pooled.count, own)
    errors = weights * (by_arm.received(shares) - by_arm.seen(means * shares))
    errors += by_arm.received(parts) - by_arm.seen(means * parts)
    return Weighted(float(curve.sum()), errors / pooled.count)
