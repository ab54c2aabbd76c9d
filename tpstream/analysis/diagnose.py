"""Diagnostics of logs: which groups the rewards are compatible with, and whether a policy assumes others.

A policy that assumes so many groups relies on two things: no group of a pull pays more than the arm's maximum divided
by their number, and the groups of a pull are independent. Both are asked for every number of groups that divides the
span. A log can contradict them; it can never prove them.

Independence is examined by a permutation test, which is exact whatever the distribution of the rewards. Independent
groups stay independent when they are merged. So a number of groups counts as dependent only if it and all its multiples
fail the test, and the chance of calling any dependent that is not is that of one test, 1 %.

The statistic of the test adds up, over arms and pairs of groups, n r^2: pulls of the arm times the squared correlation
of the two groups. If groups are independent, the values of each group may be exchanged among the pulls of an arm
without changing anything; so the observed statistic is one more of those after random exchanges, and the chance that it
is the largest of a hundred is 1 %. Once ten are as large, that cannot happen any more, and the exchanges end early
(Besag and Clifford 1991).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from tpstream.analysis.complete_pulls import CompletePulls
from tpstream.analysis.intervals import LEVEL, Interval
from tpstream.analysis.logs import gather
from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import Curve, Displayed, Summary, counted, listed, number_text
from tpstream.model.errors import LogError
from tpstream.model.events import Kind

SIGNIFICANCE = 0.01
"""The chance that independent groups are called dependent."""
PERMUTATIONS = 99
"""Random exchanges of values whose statistic is compared with the observed one."""
ENOUGH = 10
"""After this many permutations whose statistic is as large as the observed one the test ends: nothing is rejected."""
FEWEST = 10
"""An arm with fewer complete pulls is left out."""
SEED = 20220723
"""The seed of the permutations: the same logs always give the same answer."""


@dataclass(frozen=True, eq=False)
class Independence:
    """The outcome of the test of independence for one number of groups."""

    p_value: float
    """NaN if there are too few pulls."""
    correlations: Floats
    """The correlation of every two groups, as a mean over arms."""

    @property
    def holds(self) -> bool:
        """Whether independence is not contradicted, also because there is nothing to test."""
        return not self.p_value <= SIGNIFICANCE

    @property
    def mean_correlation(self) -> float:
        """The mean correlation over all pairs of groups; 0 for a single group."""
        pairs = self.correlations[np.triu_indices(len(self.correlations), 1)]
        return float(pairs.mean()) if pairs.size else 0.0


def examine(arms: Sequence[Floats]) -> Independence:
    """Test the groups (columns) of the pulls (rows) of every arm."""
    groups = arms[0].shape[1]
    scores = [standardise(sums) for sums in arms if len(sums) >= FEWEST]
    if not scores or groups == 1:
        return Independence(1.0 if groups == 1 else math.nan, np.eye(groups))
    weights = [len(score) for score in scores]
    correlations = np.average([score.T @ score for score in scores], axis=0, weights=weights)
    return Independence(permutation_p_value(scores), correlations)


def permutation_p_value(scores: Sequence[Floats]) -> float:
    """The share of permutations whose statistic is as large as the observed one, which counts as one of them."""
    stream = np.random.default_rng(SEED)
    observed = statistic(scores) * (1 - 1e-9)  # rounding must not decide between equal numbers
    larger = 0
    for done in range(1, PERMUTATIONS + 1):
        larger += statistic([stream.permuted(score, axis=0) for score in scores]) >= observed
        if larger == ENOUGH:
            return larger / done
    return (1 + larger) / (1 + PERMUTATIONS)


def standardise(sums: Floats) -> Floats:
    """Shift and scale columns to mean 0 and norm 1, so that products of two are correlations; a constant one is 0."""
    centred = sums - sums.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    constant = norms <= 1e-12 * np.sqrt(len(sums)) * np.abs(sums).max(axis=0)
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, norms))


def statistic(scores: Sequence[Floats]) -> float:
    """The sum over arms and pairs of groups of n r^2."""
    total = 0.0
    for score in scores:
        correlations = score.T @ score
        total += len(score) * float((correlations**2).sum() - (np.diagonal(correlations) ** 2).sum()) / 2
    return total


TOLERANCE = 1e-9
"""By how much a group may exceed its bound through rounding, as a share of the bound."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """What the complete pulls of a policy say about one number of groups."""

    groups: int
    width: int
    """The number of parts in a group."""
    largest: float
    """The largest observed sum of a group as a share of maximum / groups, over all arms."""
    arm: int
    """The arm that paid this largest sum."""
    independence: Independence
    """The test of this number of groups alone."""
    independent: bool
    """Whether these groups, or finer ones of which they are made, pass the test."""

    @property
    def fits(self) -> bool:
        """Whether no group paid more than its bound."""
        return self.largest <= 1 + TOLERANCE

    @property
    def compatible(self) -> bool:
        """Whether the pulls contradict neither the bound nor independence."""
        return self.fits and self.independent


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Displayed):
    """What the logs of one policy say about the groups of its rewards.

    Get one from `diagnose`, which has an example.

    Parameters
    ----------
    policy, arms
        The policy's label and the names of the arms.
    pulls
        The number of complete pulls of every arm.
    assumed
        The number of groups that the policy assumes, if it assumes any.
    groupings
        What the pulls say about every number of groups that divides the span.
    mass
        The share of the reward that each part pays, of shape (arms, parts), with the 95 % interval of its mean.
    """

    policy: str
    arms: tuple[str, ...]
    pulls: Ints
    assumed: int | None
    groupings: tuple[Grouping, ...]
    mass: Interval

    @property
    def compatible(self) -> list[int]:
        """The numbers of groups that the pulls do not contradict."""
        return [grouping.groups for grouping in self.groupings if grouping.compatible]

    def grouping(self, groups: int) -> Grouping:
        """What is known about this number of groups."""
        return next(grouping for grouping in self.groupings if grouping.groups == groups)

    @property
    def warnings(self) -> list[str]:
        """In which ways the pulls contradict what the policy assumes."""
        if self.assumed is None:
            return []
        assumed = self.grouping(self.assumed)
        complaints = []
        if not assumed.fits:
            complaints.append(
                f"a group of arm {self.arms[assumed.arm]!r} paid {assumed.largest:.3g} times its bound maximum / groups"
            )
        if not assumed.independent:
            complaints.append(
                f"its groups are not independent (mean correlation {assumed.independence.mean_correlation:.2f}, "
                f"p = {assumed.independence.p_value:.3f})"
            )
        remedy = f"the log is compatible with groups = {', '.join(map(str, self.compatible)) or 'none'}"
        return [f"{self.policy} assumes {self.assumed} groups, but {complaint}; {remedy}" for complaint in complaints]

    def frame(self) -> pd.DataFrame:
        """The diagnosis as a DataFrame, a row for every number of groups."""
        rows = [
            {
                "groups": one.groups,
                "width": one.width,
                "largest": one.largest,
                "fits": one.fits,
                "correlation": one.independence.mean_correlation,
                "p_value": one.independence.p_value,
                "independent": one.independent,
                "compatible": one.compatible,
                "assumed": one.groups == self.assumed,
            }
            for one in self.groupings
        ]
        return pd.DataFrame(rows)

    def _summary(self) -> Summary:
        rows = [
            {
                "groups": f"{one.groups:,}",
                "largest / bound": number_text(one.largest),
                "correlation": f"{one.independence.mean_correlation:.2f}",
                "compatible": "yes" if one.compatible else "no",
            }
            for one in self.groupings
        ]
        assumed = "assumes no groups" if self.assumed is None else f"assumes {self.assumed} groups"
        compatible = f"compatible with {listed(self.compatible)} groups" if self.compatible else "compatible with none"
        most = int(self.pulls.argmax())
        parts = np.arange(1, self.mass.mean.shape[1] + 1)
        return Summary(
            f"Diagnosis of {self.policy}: {counted(int(self.pulls.sum()), 'complete pull')}",
            [assumed, compatible],
            rows,
            self.warnings,
            {self.arms[most]: Curve(parts, self.mass.mean[most])},
            ("part", f"share of the reward of {self.arms[most]}"),
        )


def diagnose(logs: Iterable[Log | str | Path] | Log | str | Path) -> list[Diagnosis]:
    """Ask of the rewards in logs which numbers of groups they are compatible with.

    Policies are kept apart, since on common random numbers their n-th pulls of an arm pay the same and are no new
    evidence.

    Parameters
    ----------
    logs
        Logs of one world that hold every event: files, folders, or logs that are open already.

    Returns
    -------
    list of Diagnosis
        One for each policy.

    Raises
    ------
    LogError
        If a log cannot be read or holds only the pulls, if the logs are not of one world, or if no pull of a policy is
        complete.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, diagnose, simulate
    >>> scenario = Scenario.load("setting-1").with_(horizon=300)
    >>> with TemporaryDirectory() as folder:
    ...     run = simulate(scenario, "tp-ucb-fr", log=Path(folder) / "run.arrows")
    ...     (found,) = diagnose(folder)
    >>> found.policy, found.assumed, found.warnings
    ('tp-ucb-fr', 20, [])
    """
    found = []
    for policy, of_policy in gather(logs).logs.items():
        header = of_policy[0].header
        pulls = CompletePulls.read(of_policy)
        if not pulls.pulls.any():
            raise _no_complete_pull(of_policy)
        assumed = header.assumed_groups()
        found.append(
            Diagnosis(policy, tuple(header.arms), pulls.pulls, assumed, _groupings(pulls, header), _mass(pulls))
        )
    return found


def _no_complete_pull(logs: Sequence[Log]) -> LogError:
    """Why there is nothing to diagnose: no pull is closed, or parts are missing of every one that is."""
    path, header = logs[0].path, logs[0].header
    closed = sum(len(log.columns(["pull"], [Kind.CLOSED])["pull"]) for log in logs)
    if not closed:
        return LogError(f"{path}: no pull is complete; more than {header.span} rounds are needed")
    remedy = "" if header.sparse else '; if those paid nothing, the header of the log must say "sparse": true'
    return LogError(f"{path}: no pull is complete: {closed:,} pulls are closed, and parts are missing of each{remedy}")


def _groupings(pulls: CompletePulls, header: Header) -> tuple[Grouping, ...]:
    numbers = pulls.divisors.tolist()
    tests = {groups: examine([pulls.groups_of(arm, groups) for arm in range(len(header.arms))]) for groups in numbers}
    groupings = []
    for place, groups in enumerate(numbers):
        ratios = pulls.largest[:, place] * groups / np.array(header.maxima)
        independent = any(test.holds for finer, test in tests.items() if finer % groups == 0)
        arm = int(ratios.argmax())
        groupings.append(
            Grouping(groups, header.span // groups, float(ratios[arm]), arm, tests[groups], independent=independent)
        )
    return tuple(groupings)


def _mass(pulls: CompletePulls) -> Interval:
    """Mean parts as shares of the mean total; the interval is that of the mean part. NaN where nothing is known."""
    count = np.where(pulls.pulls >= FEWEST, pulls.pulls, np.nan)[:, np.newaxis]
    means = pulls.sums / count
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(np.maximum(pulls.squares / count - means**2, 0.0) * count / (count - 1))
        half = stats.t.ppf((1 + LEVEL) / 2, count - 1) * deviation / np.sqrt(count)
        total = means.sum(axis=1, keepdims=True)
        return Interval(means / total, (means - half) / total, (means + half) / total)
