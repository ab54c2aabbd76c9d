"""Estimates from an adaptive assignment, by inverse probabilities and weights (Hadad et al. 2021).

Patient t of T was assigned arm w with probability e_t(w), which depends on earlier patients only. The scores of an arm

    G_t = m_t + 1{W_t = w} / e_t(w) (Y_t - m_t)

have the arm's mean as their expectation given all earlier patients, if m_t is computed from these: 0 for inverse
probability weighting (IPW), the mean of the arm's earlier endpoints for the augmented one (AIPW). The estimate is the
mean of the scores with weights h_t, which may depend on earlier patients, too:

    Q = sum h_t G_t / sum h_t,        V = sum h_t^2 (G_t - Q)^2 / (sum h_t)^2.

Weights for which h_t^2 / e_t(w) adds up to a constant make (Q - mean) / sqrt(V) nearly normal. They are made by
stick-breaking: h_t^2 / e_t(w) = lambda_t times what is left of a stick of length 1. With lambda_t = 1 / (T - t + 1)
that is constant, h_t proportional to sqrt(e_t(w)). Intervals take Student's distribution instead of the normal one with
the arm's known endpoints less one as degrees of freedom, since an arm may have few patients.

Of some patients Y_t is not known. Then Y_t counts as 0 in G_t; K_t are the same scores of whether Y_t is known, 1 or 0;
and the estimate is that of the mean of the endpoints that are known,

    Q = sum h_t G_t / sum h_t K_t,    V = sum h_t^2 (G_t - Q K_t)^2 / (sum h_t K_t)^2.

If all are known, K_t = 1. Such patients cannot be left out of the sums: where they are more frequent on one arm than on
another, the patients who remain were assigned with other probabilities than the logged ones.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tpstream.analysis.intervals import LEVEL
from tpstream.model.arrays import Bools, Floats

Weights = Literal["uniform", "constant", "two-point"]
WEIGHTS: tuple[Weights, ...] = ("uniform", "constant", "two-point")


def stick_lambdas(weights: Weights, probabilities: Floats, decay: float) -> Floats:
    """lambda_t: the share that patient t takes of what the patients before left of the stick of length 1 (see above).

    `decay` is a, where the least probability falls as t^-a.
    """
    total = len(probabilities)
    patient = np.arange(1, total + 1)
    good = 1.0 / (1 + total - patient)
    if weights == "constant":
        return good
    bad = (1 - decay) / ((1 - decay) + total * (patient / total) ** decay - patient)
    mixed: Floats = np.clip((1 - probabilities) * bad + probabilities * good, 0.0, 1.0)
    return mixed


def evaluation_weights(weights: Weights, probabilities: Floats, decay: float = 0.0) -> Floats:
    """h_t, from the probabilities of one arm.

    Examples
    --------
    >>> evaluation_weights("constant", np.array([0.5, 0.5, 0.32, 0.08])).round(4).tolist()
    [0.3536, 0.3536, 0.2828, 0.1414]
    """
    if weights == "uniform":
        return np.ones(len(probabilities))
    lambdas = stick_lambdas(weights, probabilities, decay)
    left = np.cumprod(np.concatenate([[1.0], 1.0 - lambdas[:-1]]))
    found: Floats = np.sqrt(probabilities * lambdas * left)
    return found


def scores(own: Bools, chance: Floats, value: Floats, predicted: Floats) -> Floats:
    """G_t: the prediction, corrected on the arm's own patients."""
    corrected: Floats = predicted + np.where(own, value - predicted, 0.0) / chance
    return corrected


def earlier_means(own: Bools, value: Floats, first: float) -> Floats:
    """Of each patient: the mean over the arm's earlier ones; before the first of them, over all earlier patients."""
    pooled = _shifted(np.cumsum(value), first) / np.maximum(np.arange(len(value)), 1)
    count = _shifted(np.cumsum(own, dtype=np.float64), 0.0)
    sums = _shifted(np.cumsum(np.where(own, value, 0.0)), 0.0)
    return np.where(count > 0, sums / np.maximum(count, 1), pooled)


def _shifted(sums: Floats, first: float) -> Floats:
    """The sums of the patients before each one; `first` for the first patient."""
    return np.concatenate([[first], sums[:-1]])


@dataclass(frozen=True, eq=False)
class Influence:
    """An estimate of an arm's mean or of a difference, and what each patient adds to its error."""

    estimate: float
    patients: Floats
    """h_t (G_t - Q K_t) / sum h_t K_t: the variance is the sum of their squares."""
    freedom: float
    """Degrees of freedom: the arm's known endpoints less one; of a difference by Welch's formula."""

    def minus(self, other: "Influence") -> "Influence":
        """The difference of two arms; what both share of a patient's error is counted once."""
        one, two = self.error**2, other.error**2
        parts = one**2 / self.freedom + two**2 / other.freedom
        freedom = (one + two) ** 2 / parts if parts > 0 else min(self.freedom, other.freedom)
        return Influence(self.estimate - other.estimate, self.patients - other.patients, freedom)

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(np.sum(self.patients**2)))

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval, by Student's distribution."""
        return float(stats.t.ppf(0.5 + LEVEL / 2, self.freedom)) * self.error


def weighted_mean(
    own: Bools, chance: Floats, value: Floats, known: Bools, weights: Weights, *, augmented: bool, decay: float = 0.0
) -> Influence | None:
    """The mean endpoint of an arm: `own` are its patients, `chance` its probability for each patient.

    None if so few endpoints are known that the scores of being known add up to nothing.

    Parameters
    ----------
    own, chance
        Of each patient: whether the arm was assigned, and with which probability, which must not be 0.
    value, known
        The endpoint, 0 where it is not known, and whether it is.
    weights
        How patients are weighted.
    augmented
        Whether scores are those of AIPW; the first patient then has no weight, since nobody came before.
    decay
        The exponent of two-point weights.
    """
    weight = evaluation_weights(weights, chance, decay)
    present = known.astype(np.float64)
    predicted = np.zeros(len(value))
    if augmented:
        predicted = earlier_means(own, value, 0.0)
        weight[0] = 0.0
    endpoint = scores(own, chance, value, predicted)
    complete = scores(own, chance, present, earlier_means(own, present, 1.0))
    total = float(weight @ complete)
    if total <= 0:
        return None
    estimate = float(weight @ endpoint) / total
    freedom = int(np.count_nonzero(own & known)) - 1
    return Influence(estimate, weight * (endpoint - estimate * complete) / total, freedom)
