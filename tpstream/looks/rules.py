"""What the rules of a design say at a look: which arms are closed, whether the trial stops, and with which conclusion.

Rules are applied in the order inferiority, superiority, equivalence, futility, each to the arms that are still open.
An arm that is inferior, futile, or equivalent with the control, is closed, and the trial goes on with the others; the
control is never closed. After arms were closed because they are hardly the best, this probability is computed anew for
the others, until none is closed. The trial stops

- if an arm is superior: the best of them is selected;
- if all arms are equivalent;
- if no arm is left besides the control, or, without a control, if one is left: this one is superior.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tpstream.looks.critical_values import CriticalValues
from tpstream.looks.design import Design, Reason, Rule
from tpstream.looks.statistics import LookData, information, rule_statistic
from tpstream.model.arrays import Bools, Floats, Ints

ORDER = (Reason.INFERIORITY, Reason.SUPERIORITY, Reason.EQUIVALENCE, Reason.FUTILITY)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the rules say."""

    statistic: Floats
    """Of each rule and arm, (rules, arms); NaN where there is none."""
    critical: Floats
    """What these were compared with; NaN for a rule that was not applied, or has no critical value."""
    verdict: Ints
    """What was found of each arm, a `Reason`; 0 for nothing."""
    closed: Ints
    """Why each arm is closed now, a `Reason`; 0 for one that stays open or was closed before."""
    conclusion: int
    """The `Reason` for which the trial stops; 0 if it goes on."""
    selected: int
    """The arm that is superior; -1 for none."""

    @property
    def stop(self) -> bool:
        """Whether the trial stops."""
        return self.conclusion > 0

    @property
    def decided(self) -> tuple[object, ...]:
        """What becomes of the trial and of each arm; equal for verdicts that decide the same."""
        return self.conclusion, self.selected, *self.closed.tolist()


@dataclass(frozen=True, eq=False)
class Stop:
    """A stop after which the outcomes in the pipeline became known."""

    verdict: Verdict
    data: LookData
    analysis: int


def judge(
    design: Design,
    critical: CriticalValues,
    data: LookData,
    is_open: Bools,
    analysis: int,
    *,
    end: bool = False,
    stop: Stop | None = None,
) -> Verdict:
    """Apply the rules at an analysis, counted from 0, to the arms that are open.

    At the `end` those rules apply, too, that are only for it. After a `stop`, rules with delayed response have a
    critical value of their own for the arms on which something was found at the stop.
    """
    judged = _Judgement(design, data, is_open.copy())
    for reason in ORDER:
        for number, rule in enumerate(design.rules):
            if rule.reason == reason and (end or not rule.end_only) and not judged.conclusion:
                values = _critical_values(design, critical, number, analysis, data, stop)
                judged.apply(number, rule, values)
    closed = np.where(is_open & ~judged.is_open, judged.verdict, 0)
    if judged.conclusion:
        closed = np.where(judged.is_open, judged.conclusion, closed)
    return Verdict(judged.statistic, judged.critical, judged.verdict, closed, judged.conclusion, judged.selected)


def _critical_values(
    design: Design, critical: CriticalValues, number: int, analysis: int, data: LookData, stop: Stop | None
) -> Floats:
    """The critical value of a rule for each arm."""
    rule = design.rules[number]
    values = np.full(design.arms, critical.value(number, analysis))
    if stop is None:
        return values
    delayed = next((place for place, one in enumerate(design.rules) if one.delayed_response), None)
    if delayed is None or rule.method != design.rules[delayed].method:
        return values
    found = np.flatnonzero(stop.verdict.verdict)
    if number == delayed:
        with np.errstate(invalid="ignore"):
            gained = information(design, rule, data) / information(design, rule, stop.data)
        for arm in found:
            values[arm] = critical.after_stop(number, stop.analysis, float(gained[arm]))
    elif rule.beta is not None:
        values[found] = -np.inf if rule.method == "fisher" else np.inf  # who is not superior is futile
    return values


class _Judgement:
    """What was found so far at one look."""

    def __init__(self, design: Design, data: LookData, is_open: Bools) -> None:
        self.design, self.data, self.is_open = design, data, is_open
        self.statistic, self.critical = (np.full((len(design.rules), design.arms), np.nan) for _ in range(2))
        self.verdict = np.zeros(design.arms, dtype=np.int64)
        self.conclusion, self.selected = 0, -1
        self._computed: dict[tuple[object, ...], Floats] = {}

    def apply(self, number: int, rule: Rule, values: Floats) -> None:
        """Apply one rule; `values` are its critical values of each arm."""
        self.critical[number] = values
        found = self._found(number, rule, values)
        if not found.any():
            return
        if rule.kind == "superiority" or rule.against == "all":
            self.verdict[found] = self.conclusion = int(rule.reason)
            if rule.kind == "superiority":
                self.selected = self._best(number, rule, found)
        else:
            self._close(number, rule, found, values)

    def _found(self, number: int, rule: Rule, values: Floats) -> Bools:
        """Of which open arms the rule says what it is for."""
        key = (*rule.same_statistic, self.is_open.tobytes())
        if key not in self._computed:
            self._computed[key] = rule_statistic(self.design, rule, self.data, self.is_open)
        statistic = self._computed[key]
        if np.isnan(self.statistic[number]).all():
            self.statistic[number] = statistic
        with np.errstate(invalid="ignore"):
            return beyond(rule)(statistic, values)

    def _best(self, number: int, rule: Rule, found: Bools) -> int:
        """The arm with the best estimate of those that are superior; where one has none yet, the best statistic."""
        values, low = self.data.moments.estimate, self.design.lower
        if np.isnan(values[found]).any():  # deaths tell of survival before anybody reaches the last visit
            values, low = self.statistic[number], rule.method == "fisher"
        values = np.where(found, values, np.nan)
        return int(np.nanargmin(values) if low else np.nanargmax(values))

    def _close(self, number: int, rule: Rule, found: Bools, values: Floats) -> None:
        """Close arms, and stop the trial if nothing is left to compare."""
        control = self.design.control
        while found.any():
            if rule.against == "best" and (found == self.is_open).all():
                found[int(np.nanargmax(np.where(found, self.statistic[number], np.nan)))] = False
            if control >= 0:
                found[control] = False
            if not found.any():
                break
            self.verdict[found] = rule.reason
            self.is_open &= ~found
            if rule.against == "control":
                break
            found = self._found(number, rule, values)
        left = np.flatnonzero(self.is_open)
        if control >= 0:
            if len(left) == 1:
                self.conclusion = int(rule.reason)
        elif len(left) == 1:
            self.conclusion, self.selected = int(Reason.SUPERIORITY), int(left[0])
            self.verdict[left] = Reason.SUPERIORITY


Comparison = Callable[[Floats, Floats], Bools]


def beyond(rule: Rule) -> Comparison:
    """How a statistic is compared with its critical value: a probability strictly, a test as its boundary says."""
    is_high = rule.kind in ("superiority", "equivalence")
    if rule.method == "posterior":
        return np.greater if is_high else np.less
    if rule.method == "fisher":  # small p values speak for superiority, and those of inferiority against the arm
        return np.greater if rule.kind == "futility" else np.less_equal
    if rule.kind == "futility":
        return np.less
    return np.greater_equal if is_high else np.less_equal
