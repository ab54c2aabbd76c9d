"""What an arm pays per decision in the end, estimated while many of its decisions are still paying.

Decision i has been observed for C_i whole periods of age, and paid x_ia at age a. Age a counts for the n_a decisions
with C_i > a; p_a = n_a / n. The value is the sum over ages of the mean m_a of what these decisions paid at age a, so
that every age is judged by the decisions that have reached it. Its error comes from decisions, not from parts, since
those of one decision are not independent: f_i = sum over observed ages of (x_ia - m_a) / p_a, and the standard error
is sqrt(sum f_i^2) / n.

What is outstanding is what the open decisions have not paid yet: sum over ages of (n - n_a) m_a, less what they already
paid in a period that was not over. It is a prediction: besides the error of the m_a, g_i = sum over observed ages of
(x_ia - m_a) (1 / p_a - 1), what is still to come varies itself, as much as it did for decisions of which all is known:
by V_c for a decision of age c, with the third central moment T_c. So what was paid and what is outstanding add up to n
times the value.

Both intervals are corrected for skewness, and for how uncertain their width is (`Shape`). For what is outstanding,
s^2 = sum g_i^2 + sum of the V_c of open decisions; it is a sum over decisions, q_i = g_i^2 + what decision i adds to
the V_c. With r = sum g_i q_i / s^3 and k = (sum g_i^3 - sum of the T_c) / s^3, the mean of the distance of estimate and
truth in standard errors is about -r / 2, and its skewness k - 3 r. For an estimate alone, k = r.

This holds if the data cut has nothing to do with the payments, and if the assignment did not depend on outcomes.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tpstream.analysis.intervals import LEVEL
from tpstream.model.arrays import Floats, Ints

FEWEST = 50
"""Decisions that must have reached an age for it to count; with fewer at the last age, intervals are too short."""


@dataclass(frozen=True, eq=False)
class ArmAges:
    """The decisions of one arm and what they paid, by age."""

    made: Floats
    """When every decision was made."""
    observed: Ints
    """The number of whole periods of age for which it was observed, C_i; at most the number of periods."""
    row: Ints
    """Of every payment: the decision."""
    age: Ints
    """Of every payment: the period of age, from 0."""
    amount: Floats
    periods: int
    """The number of periods of age, A."""

    @property
    def count(self) -> int:
        """The number of decisions."""
        return len(self.made)

    def reached(self) -> Ints:
        """The number of decisions that were observed through each age, n_a."""
        steps = np.bincount(self.observed, minlength=self.periods + 1)
        return self.count - np.cumsum(steps)[: self.periods]

    def usable(self) -> int:
        """The number of ages, from the first on, that enough decisions have reached."""
        short = np.flatnonzero(self.reached() < FEWEST)
        return int(short[0]) if len(short) else self.periods

    def cut(self, now: Floats, time: float, whole: float = 0.0) -> "ArmAges":
        """The same arm as it was known at an earlier time; `now` are the times of all payments.

        Parts of whole rounds are known at their time (`whole` = 1), periods of age at their end (0).
        """
        made = np.searchsorted(self.made, time, side="right")
        observed = np.clip(np.floor(time - self.made[:made] + ROUNDING) + whole, 0, self.observed[:made])
        kept = (self.row < made) & (now <= time)
        return ArmAges(
            self.made[:made],
            observed.astype(np.int64),
            self.row[kept],
            self.age[kept],
            self.amount[kept],
            self.periods,
        )


ROUNDING = 1e-9
"""Ages are compared to this, since times of real-valued clocks are rounded."""


@dataclass(frozen=True)
class Shape:
    """How z = (estimate - truth) / error is distributed, where a few large payments make it skewed and long-tailed.

    z + b z^2 + b^2 z^3 / 3 + c is nearly symmetric (Hall, 1992); this function of z has an inverse. It is compared with
    Student's distribution, since where a few decisions carry the error, it is known from few: with q_i what decision i
    adds to its square, the degrees of freedom are 2 / (sum q_i^2 / (sum q_i)^2 - 1 / n), as in Satterthwaite (1946).
    """

    bend: float
    """b"""
    shift: float
    """c"""
    freedom: float

    def interval(self, value: float, error: float, level: float) -> tuple[float, float]:
        """The interval around an estimate."""
        most = float(stats.t.ppf(0.5 + level / 2, self.freedom))
        return value - error * self._inverse(most), value - error * self._inverse(-most)

    def _inverse(self, number: float) -> float:
        """The z that is transformed to this number: the sum equals ((1 + b z)^3 - 1) / (3 b) + c."""
        if abs(self.bend) < ROUNDING:
            return number - self.shift
        return float((np.cbrt(1 + 3 * self.bend * (number - self.shift)) - 1) / self.bend)


def degrees_of_freedom(squares: Floats) -> float:
    """Those of an error to whose square the decisions add these numbers."""
    total = float(squares.sum())
    spread = float(np.square(squares / total).sum()) - 1 / len(squares) if total > 0 else 0.0
    return 2 / spread if spread > 0 else np.inf


@dataclass(frozen=True, eq=False)
class OpenValue:
    """The estimates for one arm, within its first ages."""

    ages: int
    """The number of ages that count."""
    curve: Floats
    """The mean of what was paid at each age, m_a."""
    value: float
    """What a decision pays in the end, on average."""
    errors: Floats
    """The error of every decision divided by their number, f_i / n; the squares add up to that of the value."""
    paid: float
    """What was paid so far within these ages, by all decisions."""
    outstanding: float
    outstanding_error: float
    """The standard error of what is outstanding, as a prediction."""
    outstanding_shape: "Shape"
    """How its distance from the truth is distributed."""

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return float(np.sqrt(np.square(self.errors).sum()))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of the value, corrected for skewness."""
        return skewed_interval(self.value, self.errors, level)

    def outstanding_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of what is outstanding, corrected for skewness."""
        return self.outstanding_shape.interval(self.outstanding, self.outstanding_error, level)

    def curve_errors(self, arm: ArmAges) -> Floats:
        """The standard error of what is paid up to each age."""
        shares = arm.reached()[: self.ages] / arm.count
        found = np.zeros(self.ages)
        for last in range(1, self.ages + 1):
            found[last - 1] = np.sqrt(np.square(_errors(arm, self.curve[:last], 1 / shares[:last])).sum()) / arm.count
        return found


def skewed_interval(value: float, errors: Floats, level: float = LEVEL) -> tuple[float, float]:
    """The interval of an estimate, corrected for skewness.

    `errors` are those of the decisions, f_i / n, of which the squares add up to that of the estimate. A few large
    payments make the distribution of the estimate skewed; the interval then reaches further up than down. With s the
    skewness of the f_i, b = s / (3 sqrt n) and c = b / 2 (see `Shape`).
    """
    squares = np.square(errors)
    square = float(squares.sum())
    bend = float((errors**3).sum() / square**1.5) / 3 if square > 0 else 0.0
    return Shape(bend, bend / 2, degrees_of_freedom(squares)).interval(value, float(np.sqrt(square)), level)


def estimate(arm: ArmAges, ages: int | None = None) -> OpenValue:
    """The value of an arm within its first ages: those that enough decisions have reached, or as many as asked for."""
    ages = arm.usable() if ages is None else ages
    count, reached = arm.count, arm.reached()[:ages]
    within = arm.age < ages
    curve, shares = _curve(arm, ages), reached / count
    errors = _errors(arm, curve, 1 / shares) / count
    spread = _errors(arm, curve, 1 / shares - 1)
    error, shape = _prediction(arm, ages, spread)
    begun = float(arm.amount[within & (arm.age >= arm.observed[arm.row])].sum())
    return OpenValue(
        ages=ages,
        curve=curve,
        value=float(curve.sum()),
        errors=errors,
        paid=float(arm.amount[within].sum()),
        outstanding=float(((count - reached) * curve).sum()) - begun,
        outstanding_error=error,
        outstanding_shape=shape,
    )


def value_errors(arm: ArmAges, ages: int) -> tuple[float, Floats]:
    """What a decision pays within its first ages, and f_i / n of every decision: faster than all estimates."""
    curve = _curve(arm, ages)
    return float(curve.sum()), _errors(arm, curve, arm.count / arm.reached()[:ages]) / arm.count


def value_within(arm: ArmAges, ages: int) -> tuple[float, float]:
    """What a decision pays within its first ages, and the standard error."""
    value, errors = value_errors(arm, ages)
    return value, float(np.sqrt(np.square(errors).sum()))


def _curve(arm: ArmAges, ages: int) -> Floats:
    """The mean of what was paid at each of the first ages, m_a."""
    whole = (arm.age < ages) & (arm.age < arm.observed[arm.row])
    sums = np.bincount(arm.age[whole], weights=arm.amount[whole], minlength=ages)
    curve: Floats = sums / arm.reached()[:ages]
    return curve


def _errors(arm: ArmAges, curve: Floats, factors: Floats) -> Floats:
    """For each decision the sum over its observed ages of (x_ia - m_a) times a factor of the age."""
    ages = len(curve)
    observed = np.minimum(arm.observed, ages)
    whole = arm.age < observed[arm.row]
    paid = np.bincount(arm.row[whole], weights=arm.amount[whole] * factors[arm.age[whole]], minlength=arm.count)
    expected = np.append(0.0, np.cumsum(curve * factors))
    errors: Floats = paid - expected[observed]
    return errors


def _prediction(arm: ArmAges, ages: int, spread: Floats) -> tuple[float, Shape]:
    """The standard error of what is outstanding, and how its distance from the truth is distributed."""
    shares, third = _unseen(arm, ages)
    squares = np.square(spread) + shares  # q_i
    error = float(np.sqrt(squares.sum()))
    if error == 0:
        return 0.0, Shape(0.0, 0.0, np.inf)
    ratio = float((spread * squares).sum()) / error**3  # r
    bend = (3 * ratio - (float((spread**3).sum()) - third) / error**3) / 6
    return error, Shape(bend, ratio / 2 - bend, degrees_of_freedom(squares))


def _unseen(arm: ArmAges, ages: int) -> tuple[Floats, float]:
    """The moments of what open decisions have yet to pay: those of the same ages of decisions of which all is known.

    What each decision adds to the sum of the variances; and the sum of the third central moments.
    """
    observed = np.minimum(arm.observed, ages)
    is_complete = observed == ages
    number = np.cumsum(is_complete) - 1
    chosen = is_complete[arm.row] & (arm.age < ages)
    complete = int(is_complete.sum())
    open_by_age = np.bincount(observed[~is_complete], minlength=ages)[:ages]
    tails, squares, third = np.zeros(complete), np.zeros(complete), 0.0
    rows, age, amount = number[arm.row[chosen]], arm.age[chosen], arm.amount[chosen]
    order = np.argsort(-age, kind="stable")
    rows, age, amount = rows[order], age[order], amount[order]
    ends = np.searchsorted(-age, -np.arange(ages), side="right")
    done = 0
    for seen in range(ages - 1, -1, -1):
        np.add.at(tails, rows[done : ends[seen]], amount[done : ends[seen]])
        done = ends[seen]
        if open_by_age[seen]:
            apart = tails - tails.mean()
            squares += open_by_age[seen] / (complete - 1) * apart**2
            third += open_by_age[seen] * float((apart**3).mean())
    shares = np.zeros(arm.count)
    shares[is_complete] = squares
    return shares, third
