"""Spending functions: how much of an error probability may be used up to a fraction of the information.

With the whole error a and the fraction t of the information, from 0 to 1:

    obrien-fleming       2 (1 - Phi(z_{1 - a/2} / sqrt(t)))        little at first
    pocock               a ln(1 + (e - 1) t)                       nearly even
    hwang-shih-decani    a (1 - exp(-g t)) / (1 - exp(-g)), or a t for g = 0; g < 0: little at first, g > 0: much

The first two give boundaries like those of O'Brien and Fleming and of Pocock (Lan and DeMets 1983).
"""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from tpstream.looks.design import SpendingName
from tpstream.model.arrays import Floats


def spent(kind: SpendingName, error: float, information: Floats, gamma: float = -4.0) -> Floats:
    """What is spent of the error up to each fraction of the information; `gamma` is g of Hwang, Shih and DeCani.

    Examples
    --------
    >>> spent("pocock", 0.05, np.array([0.5, 1.0])).round(4)
    array([0.031, 0.05 ])
    """
    fractions = np.minimum(information, 1.0)
    if kind == "pocock":
        found: Floats = error * np.log1p((math.e - 1) * fractions)
    elif kind == "hwang-shih-decani":
        found = error * (np.expm1(-gamma * fractions) / math.expm1(-gamma) if gamma else fractions)
    else:
        found = 2 * ndtr(ndtri(error / 2) / np.sqrt(fractions))
    return found
