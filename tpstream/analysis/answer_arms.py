"""What an answer says about one arm, and why it withholds intervals: too few decisions paid, or a few carry the sum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tpstream.analysis.adaptive import Estimate
from tpstream.analysis.adaptive_weights import Influence
from tpstream.analysis.open_values import FEWEST, ArmAges, OpenValue, estimate, skewed_interval
from tpstream.model.arrays import Floats
from tpstream.model.display import counted

PAYING = 20
"""Decisions that must have paid for an interval of the value; below, its coverage was not measured."""
PAYING_FOR_OUTSTANDING = 100
"""The same for what is outstanding; below, its coverage was not measured."""
LARGEST_SHARE = 1 / 2
"""What the largest hundredth of the paying decisions may carry of the sum."""
LARGEST_SQUARE = 0.05
"""What the largest total may add to the sum of the squares before the next two are asked.

Of many totals that were paid by a list of prices it is little, however these are spread.
"""
WIDEST_BODY = 1.85
"""The spread of the logarithms of totals, from their quantiles 0.4 and 0.85; it is s for lognormal totals.

The largest totals do not count in it: an arm in which large payments have not come yet, so that its value is too low,
would seem less spread, and intervals would be given where they are wrong.
"""
BODY = (0.4, 0.85)
LOPSIDED, HEAVIEST = 0.2, 0.57
"""Totals look like those of a power law, whose variance may be infinite, if both are exceeded.

The first is the skewness of their logarithms: that of lognormal totals is 0, that of a power law 2. The second is the
mean of log(total / x) of the largest ones, of which x is the least, plus two standard errors: Hill's estimate of
1 / index, which is above 0.5 where the variance is infinite. docs/coverage.md has been made with other random numbers
than those by which these were chosen.
"""
LARGEST, FEWEST_LARGEST = 0.05, 50
"""The share of the totals that are the largest in this; at least so many, but no more than a quarter of all."""


@dataclass(frozen=True, eq=False)
class ArmAnswer:
    """What is known about one arm."""

    arm: str
    decisions: int
    closed: int
    open: int
    paid: float
    """What was paid within the window so far, in total."""
    naive: float
    """The same per decision: too low, since open decisions have not paid all."""
    estimate: OpenValue | None
    """None if too few decisions are old enough."""
    reason: str | None
    """Why the interval of the value, or everything, is withheld."""
    outstanding_reason: str | None
    best_probability: float | None = None
    best_reason: str | None = None
    """Why that probability is withheld, where it is another arm's interval that cannot be given."""
    weighted: Estimate | None = None
    """If the assignment depended on outcomes: the value by analysis/adaptive.py, in place of the other."""
    influence: Influence | None = None
    """What decisions add to the error of that value."""

    @property
    def value(self) -> float | None:
        """What a decision pays in the end; None if it is not known."""
        if self.weighted is not None:
            return self.weighted.value
        return None if self.estimate is None else self.estimate.value

    @property
    def error(self) -> float | None:
        """The standard error of the value; None if no interval can be given."""
        if self.weighted is not None:
            return self.weighted.error
        return None if self.estimate is None or self.reason is not None else self.estimate.error

    def minus(self, other: "ArmAnswer") -> tuple[float | None, float | None, float | None]:
        """The value minus that of another arm, with the interval of the difference; None for what is not known."""
        if self.value is None or other.value is None:
            return None, None, None
        difference = self.value - other.value
        if self.error is None or other.error is None:
            return difference, None, None
        if self.influence is not None and other.influence is not None:
            both = self.influence.minus(other.influence)
            return difference, difference - both.half_width, difference + both.half_width
        assert self.estimate is not None  # noqa: S101 (it has an error)
        assert other.estimate is not None  # noqa: S101
        return difference, *skewed_interval(difference, np.concatenate([self.estimate.errors, -other.estimate.errors]))

    def columns(self) -> dict[str, Any]:
        """The arm as a row of the table `answer`; None for what is withheld."""
        found, shown = self.estimate, self.reason is None
        low, high = found.interval() if found is not None and shown else (None, None)
        if self.weighted is not None:
            low, high = self.weighted.low, self.weighted.high
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("arm", "decisions", "closed", "open", "paid", "naive")
        }
        row |= {"value": self.value, "low": low, "high": high}
        row |= {"outstanding": None, "outstanding_low": None, "outstanding_high": None}
        if found is not None:
            row["outstanding"] = found.outstanding
            if shown and self.outstanding_reason is None:
                row["outstanding_low"], row["outstanding_high"] = found.outstanding_interval()
        reason = self.reason or "; ".join(filter(None, (self.outstanding_reason, self.best_reason))) or None
        if self.weighted is not None:
            reason = self.weighted.reason or f"outstanding: {self.reason}"
        return row | {"best_probability": self.best_probability, "reason": reason}


def arm_answer(name: str, arm: ArmAges, ages: int, adaptive: str | None = None) -> ArmAnswer:
    """What is known about one arm within some ages; `adaptive` is why no interval can be given, if so."""
    closed = int(np.count_nonzero(arm.observed == arm.periods))
    paid = float(arm.amount.sum())
    too_young = not ages or arm.usable() < ages
    reason = outstanding = None
    if too_young:
        reason = f"fewer than {FEWEST} decisions are old enough"
    else:
        reason = adaptive or unreliable(arm, ages)
        outstanding = _few_paying(arm, ages, PAYING_FOR_OUTSTANDING)
    return ArmAnswer(
        arm=name,
        decisions=arm.count,
        closed=closed,
        open=arm.count - closed,
        paid=paid,
        naive=paid / arm.count if arm.count else float("nan"),
        estimate=None if too_young else estimate(arm, ages),
        reason=reason,
        outstanding_reason=None if outstanding is None else f"outstanding: {outstanding}",
    )


def unreliable(arm: ArmAges, ages: int) -> str | None:
    """Why no interval of the value is given: too few decisions paid, or a few carry the sum."""
    few = _few_paying(arm, ages, PAYING)
    if few is not None:
        return few
    chosen = arm.age < ages
    totals: Floats = np.bincount(arm.row[chosen], weights=arm.amount[chosen], minlength=arm.count).astype(np.float64)
    positive = np.sort(totals[totals > 0])[::-1]
    if not len(positive):
        return "no decision paid more than it was refunded"
    largest = positive[: int(np.ceil(len(positive) / 100))].sum() / positive.sum()
    if largest > LARGEST_SHARE:
        return f"the largest 1 % of the decisions that paid carry {largest:.0%} of the sum"
    return _heavy_tail(positive)


def _heavy_tail(totals: Floats) -> str | None:
    """Why the tail of positive totals, the largest first, is too heavy; None if it is not."""
    if totals[0] ** 2 <= LARGEST_SQUARE * np.square(totals).sum():
        return None
    logs = np.log(totals)
    least, most = np.quantile(logs, BODY)
    body = float(most - least) / float(stats.norm.ppf(BODY[1]) - stats.norm.ppf(BODY[0]))
    if body > WIDEST_BODY:
        hold = f"up to {WIDEST_BODY} intervals hold"
        return f"payments have a heavy tail: the logarithms of what decisions paid vary by {body:.2f}, and {hold}"
    if _is_power_law(logs):
        return "payments have a heavy tail like a power law, whose largest ones have not been seen yet"
    return None


def _is_power_law(logs: Floats) -> bool:
    """Whether the logarithms of totals, the largest first, are like those of a power law."""
    spread, number = float(logs.std()), min(max(int(len(logs) * LARGEST), FEWEST_LARGEST), len(logs) // 4)
    if spread == 0 or not number:
        return False
    skewness = float(((logs - logs.mean()) ** 3).mean()) / spread**3
    hill = float((logs[:number] - logs[number]).mean())
    return skewness > LOPSIDED and hill * (1 + 2 / np.sqrt(number)) > HEAVIEST


def _few_paying(arm: ArmAges, ages: int, fewest: int) -> str | None:
    paying = len(np.unique(arm.row[arm.age < ages]))
    return None if paying >= fewest else f"only {counted(paying, 'decision')} paid, and an interval needs {fewest}"
