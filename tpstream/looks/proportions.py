"""Tests of two proportions, or of two means, for many trials at once: z tests and Fisher's exact test.

All are one-sided: large z and small p speak for the treatment. `successes` and `patients` (or means, variances and
numbers) are arrays of one shape, with the treatment's first and the control's second.
"""

import numpy as np
from scipy.special import betaln

from tpstream.model.arrays import Bools, Floats


def z_of_proportions(
    successes: Floats, patients: Floats, control_successes: Floats, control_patients: Floats, *, pooled: bool = False
) -> Floats:
    """The difference of two proportions over its standard error; 0 for no difference, NaN where an arm has no patient.

    The variance is p (1 - p) / n of each arm, added up; or, if `pooled`, with the p of both arms together. Where it is
    0, a difference counts as infinite.

    Examples
    --------
    >>> counts = (np.array([30.0]), np.array([60.0]), np.array([18.0]), np.array([60.0]))
    >>> z_of_proportions(*counts).round(4), z_of_proportions(*counts, pooled=True).round(4)
    (array([2.2842]), array([2.2361]))
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = successes / patients, control_successes / control_patients
        if pooled:
            both = (successes + control_successes) / (patients + control_patients)
            variance = both * (1 - both) * (1 / patients + 1 / control_patients)
        else:
            variance = one * (1 - one) / patients + other * (1 - other) / control_patients
        return over_root(one - other, variance)


def z_of_means(
    mean: Floats,
    variance: Floats,
    patients: Floats,
    control_mean: Floats,
    control_variance: Floats,
    control_patients: Floats,
    *,
    pooled: bool = False,
) -> Floats:
    """The difference of two means over its standard error, from sample variances (divided by n - 1).

    If `pooled`, both arms are taken to have one variance, that of both samples together. NaN where a variance is not
    known; where it is 0, a difference counts as infinite.

    Examples
    --------
    >>> given = [np.array([number]) for number in (1.0, 4.0, 25.0, 0.0, 9.0, 100.0)]
    >>> z_of_means(*given), z_of_means(*given, pooled=True).round(4)
    (array([2.]), array([1.5787]))
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if pooled:
            freedom = patients - 1, control_patients - 1
            together = (freedom[0] * variance + freedom[1] * control_variance) / (freedom[0] + freedom[1])
            of_difference = together * (1 / patients + 1 / control_patients)
        else:
            of_difference = variance / patients + control_variance / control_patients
        return over_root(mean - control_mean, of_difference)


def over_root(difference: Floats, variance: Floats) -> Floats:
    """The difference over the root of its variance; infinite where that is 0, but 0 where there is no difference."""
    zero: Bools = (difference == 0) & ~np.isnan(variance)
    found: Floats = np.where(zero, 0.0, difference / np.sqrt(variance))
    return found


def fisher_p(successes: Floats, patients: Floats, control_successes: Floats, control_patients: Floats) -> Floats:
    """The p value of Fisher's exact test: given all successes, that of at least so many being the treatment's.

    Examples
    --------
    >>> fisher_p(np.array([7.0]), np.array([10.0]), np.array([2.0]), np.array([10.0])).round(4)
    array([0.0349])
    """
    arrays = np.broadcast_arrays(successes, patients, control_successes, control_patients)
    x, n, control_x, control_n = (np.asarray(one, dtype=np.float64)[..., np.newaxis] for one in arrays)
    total = x + control_x
    # Every possible number from x on; those beyond the treatment's patients or all successes have no probability.
    counts = x + np.arange(int(np.max(np.minimum(n, total) - x, initial=0)) + 1)
    possible = (counts <= np.minimum(n, total)) & (counts >= total - control_n)
    kept = np.where(possible, counts, x)
    logarithms = _log_choose(n, kept) + _log_choose(control_n, total - kept) - _log_choose(n + control_n, total)
    found: Floats = np.minimum(np.where(possible, np.exp(logarithms), 0.0).sum(axis=-1), 1.0)
    return found


def _log_choose(whole: Floats, part: Floats) -> Floats:
    """The logarithm of the binomial coefficient."""
    found: Floats = -np.log1p(whole) - betaln(whole - part + 1, part + 1)
    return found
