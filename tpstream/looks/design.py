"""A trial's design as plain values: the endpoint, when the trial is looked at, and by which rules it stops.

A scenario makes it from its table `[trial]` (`scenario.design()`); everything is checked there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import numpy as np

from tpstream.model.arrays import Bools, Floats

Family = Literal["beta", "normal"]
"""The families of posterior distributions."""
SpendingName = Literal["obrien-fleming", "pocock", "hwang-shih-decani"]
RuleKind = Literal["inferiority", "superiority", "equivalence", "futility"]
Method = Literal["posterior", "z", "fisher", "logrank", "rmst"]
Against = Literal["control", "best", "all"]
LookAt = Literal["known", "randomised", "time", "information"]
AnalysisName = Literal["complete", "available", "imputed"]
Adjust = Literal["none", "bonferroni", "dunnett"]
Dropouts = Literal["exclude", "failure"]


class Reason(IntEnum):
    """Why an arm or a trial is closed; the numbers are part of the log's schema.

    Rules are applied in the order of the first four. `MAXIMUM` is the reason of a trial in which no rule applied.
    """

    INFERIORITY = 1
    SUPERIORITY = 2
    EQUIVALENCE = 3
    FUTILITY = 4
    MAXIMUM = 5


TWO = 2
"""The arms of a trial that stops as soon as one of them is closed, since nothing is left to compare."""
REASONS: Mapping[str, Reason] = {reason.name.lower(): reason for reason in Reason}


@dataclass(frozen=True)
class Rule:
    """One of `[[trial.rules]]`: what is concluded from which statistic, and from which value of it on."""

    kind: RuleKind
    method: Method
    against: Against
    margin: float = 0.0
    """The difference that counts, in the direction of benefit: of superiority and futility above it, of equivalence
    within it."""
    threshold: float | None = None
    """The probability (posterior), p value (fisher) or z from which on it applies; None where an error is spent."""
    model: Family = "beta"
    """The family of the posterior distributions, where `method` is "posterior"."""
    prior: tuple[float, float] | None = None
    """a and b of the Beta prior, or mean and standard deviation of the normal one; None: a flat normal one."""
    alpha: float | None = None
    """The error that is spent over the analyses, per comparison or, if the design adjusts it, of all together."""
    beta: float | None = None
    """The error of the second kind that a rule of futility spends."""
    spent: SpendingName | tuple[float, ...] = "obrien-fleming"
    """How it is spent: a function, or the amounts that are spent up to each analysis."""
    gamma: float = -4.0
    """The parameter of Hwang, Shih and DeCani's spending function."""
    binding: bool = True
    """Whether a trial must stop below the boundary of futility, so that alpha may count on it."""
    delayed_response: bool = False
    """Whether a stop is followed by a decision when the pipeline is known (Hampson and Jennison)."""
    pooled: bool = False
    """Whether z takes both arms to have one variance."""
    end_only: bool = False
    """Whether the rule is applied at the final analysis only."""

    @property
    def reason(self) -> Reason:
        """The code of its kind."""
        return REASONS[self.kind]

    @property
    def same_statistic(self) -> tuple[object, ...]:
        """Equal for rules that have the same statistic."""
        own = self.kind == "equivalence" or (self.kind == "inferiority" and self.method == "fisher")
        return self.method, self.against, self.margin, self.model, self.prior, self.pooled, own and self.kind


@dataclass(frozen=True)
class Looks:
    """When the trial is looked at while it goes on, and on whose data."""

    at: LookAt = "known"
    values: tuple[float, ...] = ()
    """Numbers of patients, times, or fractions of the information."""
    analysis: AnalysisName = "complete"
    cleaning: float = 0.0
    """Time between the cut of the data and the decision."""
    recruiting: bool = True
    """Whether patients are enrolled in that time."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Design:
    """A trial's design.

    Examples
    --------
    >>> from tpstream import Scenario
    >>> scenario = Scenario(
    ...     name="responses",
    ...     horizon=200,
    ...     visits=[2, 12],
    ...     drain=True,
    ...     rewards={"kind": "binary"},
    ...     arms=[{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.5}],
    ...     trial={
    ...         "control": "standard",
    ...         "endpoint": "last",
    ...         "looks": {"at": "known", "values": [100]},
    ...         "rules": [{"kind": "superiority", "method": "z", "alpha": 0.025}],
    ...     },
    ... )
    >>> design = scenario.design()
    >>> design.control, design.weights, design.due, design.information
    (0, array([0., 1.]), 12.0, (0.5, 1.0))
    """

    names: tuple[str, ...]
    horizon: int
    """The largest number of patients."""
    visits: Floats
    """When each part is due after the treatment, without spread or delays."""
    weights: Floats
    """The weight of each part in the endpoint."""
    control: int = -1
    """The number of the control arm; -1 if there is none."""
    lower: bool = False
    """Whether low values of the endpoint are good."""
    adjust: Adjust = "none"
    dropouts: Dropouts = "exclude"
    looks: Looks = field(default_factory=Looks)
    information: tuple[float, ...] | None = None
    """The planned fraction of the information at each analysis, the last of which is 1; None if it is not known.

    There is one for each look and, unless the last look has everything, one for the final analysis."""
    rules: tuple[Rule, ...] = ()
    """In the order of the scenario."""
    counts: bool = False
    """Whether the endpoint lies between 0 and 1, so that its variance is not above p (1 - p)."""
    survival: bool = False
    """Whether parts are times lived between visits."""
    caps: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """The largest value of each part, (arms, span); NaN where there is none."""
    means: Floats = field(default_factory=lambda: np.empty(0))
    """The true expectation of each arm's endpoint; NaN where it is not known."""
    ratio: tuple[int, ...] = ()
    """Of the arms in a fixed allocation; empty: equal, or not fixed."""

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.names)

    @property
    def weighted(self) -> Bools:
        """Whether each part counts for the endpoint."""
        found: Bools = self.weights != 0
        return found

    @property
    def due(self) -> float:
        """When the endpoint is due after the treatment: the visit of the last part that counts."""
        return float(self.visits[self.weighted][-1])

    @property
    def worst(self) -> Floats:
        """What a part counts that is lost, if drop-outs are failures: its worst value."""
        lows, highs = np.zeros(len(self.weights)), self.caps.max(axis=0)
        good_if_low = self.lower != (self.weights < 0)
        return np.where(good_if_low, highs, lows)

    @property
    def delayed_response(self) -> bool:
        """Whether a stop only ends recruitment, and the trial is decided when its pipeline is known."""
        return any(rule.delayed_response for rule in self.rules)

    @property
    def drops_arms(self) -> bool:
        """Whether a rule can close an arm while the trial goes on with others."""
        kinds = {rule.kind for rule in self.rules if not rule.end_only and rule.against != "all"}
        return self.arms > TWO and len(self.looks) > 0 and bool(kinds - {"superiority"})
