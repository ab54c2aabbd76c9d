"""The randomisation test: would the rule, with other random numbers, have made arms look as different as they did?

If no arm differs from another, a patient's outcomes and delays are the same on every arm. Then the recorded patients
can be assigned again and again (replay/rerun.py), and the recorded difference is one among those that the rule makes by
chance. The test is exact for any rule, outcome and number of patients, however much the rule learned.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from tpstream.analysis.endpoints import Count, Endpoint, Endpoints, find_control, read_endpoints
from tpstream.log.reader import Log
from tpstream.model.arrays import Floats, Ints
from tpstream.model.display import Displayed, Summary, counted, number_text
from tpstream.model.errors import DataError, LogError
from tpstream.model.events import Kind
from tpstream.model.limits import MOST_REPLICATIONS
from tpstream.policies.base import SharedPolicy
from tpstream.replay.replay import find_policy_of, open_log
from tpstream.replay.rerun import Rerun
from tpstream.run.cost import MOST_SECONDS, SECONDS_PER_EVENT
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec

Alternative = Literal["two-sided", "greater", "less"]
PROBES = 20
"""Assignments that are compared to see whether a rule draws random numbers at all."""
ROUNDING = 1e-9
"""Differences count as equal if they differ by less than this share of the largest endpoint."""


@dataclass(frozen=True, eq=False, repr=False)
class RandomisationTest(Displayed):
    """What a randomisation test found.

    Get one from `randomisation_test`, which has an example.

    Parameters
    ----------
    log, policy
        The log's file and the rule that was run again.
    arms, control
        The arms that are compared, and the one that they are compared with.
    alternative
        "two-sided", "greater" or "less".
    differences
        Of each arm: the mean of its known endpoints minus that of the control; NaN if one of them has none.
    p_values
        Of each arm: how often chance makes a difference that is at least as extreme, (1 + number) / (1 + replications).
    adjusted
        The same for the most extreme difference of all arms: adjusted for the number of comparisons.
    replications, seed
        How often the patients were assigned again, and the seed of these assignments.
    rule
        Who is counted, in words.
    notes
        What a reader should know.
    """

    log: str
    policy: str
    arms: tuple[str, ...]
    control: str
    alternative: Alternative
    differences: Floats
    p_values: Floats
    adjusted: Floats
    replications: int
    seed: int
    rule: str
    notes: tuple[str, ...]

    @property
    def p_value(self) -> float:
        """The p value of the hypothesis that no arm differs from the control: the smallest adjusted one."""
        return float(np.nanmin(self.adjusted))

    def frame(self) -> pd.DataFrame:
        """The test as a DataFrame, a row for each arm; `error` is the Monte Carlo error of the p value."""
        columns = {
            "arm": self.arms,
            "against": self.control,
            "difference": self.differences,
            "p_value": self.p_values,
            "error": np.sqrt(self.p_values * (1 - self.p_values) / self.replications),
            "adjusted": self.adjusted,
        }
        return pd.DataFrame(columns)

    def rows(self) -> list[dict[str, str]]:
        """The table that commands print."""
        return [
            {
                "": f"{row['arm']} - {row['against']}",
                "difference": number_text(row["difference"]),
                "p": f"{row['p_value']:.4f}",
                "Monte Carlo error": f"{row['error']:.4f}",
                "p, adjusted for all arms": f"{row['adjusted']:.4f}",
            }
            for row in self.frame().to_dict("records")
        ]

    def _summary(self) -> Summary:
        title = f"Randomisation test of {self.log} under {self.policy}: p = {self.p_value:.4f}"
        facts = [self.alternative, counted(self.replications, "replication"), f"seed {self.seed}", self.rule]
        return Summary(title, facts, self.rows(), self.notes)


def randomisation_test(
    log: Log | str | Path,
    *,
    endpoint: Endpoint | None = None,
    count: Count = "due",
    control: str | None = None,
    alternative: Alternative = "two-sided",
    replications: int = 1000,
    seed: int = 0,
    policy: PolicySpec | None = None,
) -> RandomisationTest:
    """Test that no arm of a trial differs from another, by assigning its patients again with new random numbers.

    The patients of the log keep their outcomes and delays, and the rule assigns them again; a rule that stopped the
    trial is left out. The p value is (1 + number of assignments at least as extreme) / (1 + replications).

    Parameters
    ----------
    log
        A log that holds every event: a file, or a log that is open already.
    endpoint, count, control
        As in `adaptive_estimates`.
    alternative
        "two-sided", or that arms are "greater" or "less" than the control.
    replications
        How often patients are assigned again.
    seed
        The seed of these assignments.
    policy
        The rule; by default the one that the header names, with its parameters.

    Returns
    -------
    RandomisationTest
        Differences and p values.

    Raises
    ------
    LogError
        If the log cannot be read or holds only the pulls, if arms were dropped, or if the rule does not assign at
        random.
    DataError
        If an argument does not fit the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, randomisation_test, simulate
    >>> arms = [{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.8}]
    >>> scenario = Scenario(name="t", horizon=100, span=1, drain=True, rewards={"kind": "binary"}, arms=arms)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trial.arrows"
    ...     run = simulate(scenario, "uniform", log=path)
    ...     found = randomisation_test(path, replications=200)
    >>> found.p_value < 0.05
    True
    """
    log = open_log(log, "a randomisation test")
    if alternative not in get_args(Alternative):
        known = ", ".join(get_args(Alternative))
        raise DataError(f"alternative: must be one of {known}, got {alternative!r}")
    if not 1 <= replications <= MOST_REPLICATIONS:
        raise DataError(f"replications: must be 1 to {MOST_REPLICATIONS:,}, got {replications:,}")
    patients, against, choice = (
        read_endpoints(log, endpoint, count),
        find_control(log, control),
        find_policy_of(log, policy),
    )
    notes = _check_stops(log)
    rerun = Rerun(choice, log)
    _require_chance(log, choice)
    compiled = isinstance(choice.form, SharedPolicy)
    seconds = replications * len(patients.assigned) * SECONDS_PER_EVENT[compiled]
    if seconds > MOST_SECONDS:
        raise DataError(
            f"replications: {replications:,} of {len(patients.assigned):,} decisions take some {seconds / 86_400:,.0f} "
            f"days; ask for fewer"
        )
    observed = differences(patients, patients.assigned, against)
    streams = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(replications))
    with ThreadPoolExecutor(os.cpu_count() if compiled else 1) as threads:
        made = np.array(list(threads.map(lambda stream: differences(patients, rerun.assign(stream), against), streams)))
    others = [number for number in range(len(log.header.arms)) if number != against]
    p_values, adjusted = compare(observed[others], made[:, others], alternative, _tolerance(patients))
    names = log.header.arms
    return RandomisationTest(
        log=str(log.path),
        policy=choice.label,
        arms=tuple(names[number] for number in others),
        control=names[against],
        alternative=alternative,
        differences=observed[others],
        p_values=p_values,
        adjusted=adjusted,
        replications=replications,
        seed=seed,
        rule=patients.rule,
        notes=tuple(notes),
    )


def differences(patients: Endpoints, assigned: Ints, control: int) -> Floats:
    """The mean of each arm's known endpoints minus that of the control; NaN if one of them has none."""
    arms = len(patients.header.arms)
    arm, value = assigned[patients.counted][patients.known], patients.value[patients.known]
    count = np.bincount(arm, minlength=arms)
    sums = np.bincount(arm, weights=value, minlength=arms)
    means = np.divide(sums, count, out=np.full(arms, np.nan), where=count > 0)
    found: Floats = means - means[control]
    return found


def compare(observed: Floats, made: Floats, alternative: Alternative, tolerance: float = 0.0) -> tuple[Floats, Floats]:
    """The p value of each observed difference, and the one adjusted for all; `made` has a row for each replication.

    A difference that does not exist, since an arm got nobody, is less extreme than any other. The p value of an
    observed one is NaN.
    """
    extreme = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative]
    scores = np.nan_to_num(extreme(made), nan=-np.inf)
    reached = np.where(np.isnan(observed), np.nan, extreme(observed) - tolerance)
    total = 1 + len(made)
    own = (1 + np.sum(scores >= reached, axis=0)) / total
    largest = (1 + np.sum(scores.max(axis=1, keepdims=True) >= reached, axis=0)) / total
    known = ~np.isnan(observed)
    return np.where(known, own, np.nan), np.where(known, largest, np.nan)


def _tolerance(patients: Endpoints) -> float:
    """By how much differences that are equal on paper may differ by rounding."""
    return ROUNDING * float(np.abs(patients.value).max(initial=0.0))


def _check_stops(log: Log) -> list[str]:
    """Refuse a log in which arms were dropped while others went on; a note if a rule stopped the whole trial."""
    stops = log.columns(["kind", "pull", "arm"], [Kind.STOPPED])
    if not len(stops["arm"]):
        return []
    if len(np.unique(stops["pull"])) > 1 or len(np.unique(stops["arm"])) < len(log.header.arms):
        raise LogError(
            f"{log.path}: arms were dropped while others went on, and a randomisation test runs the allocation rule "
            f"alone; it is not available"
        )
    return ["the trial was stopped by a rule; patients are assigned again without it"]


def _require_chance(log: Log, choice: PolicyChoice) -> None:
    """Refuse a rule that draws no random numbers, or only to choose among equal indices."""
    parameters: Any = choice.parameters
    if getattr(parameters, "ties", None) == "random":
        parameters = parameters.model_copy(update={"ties": "first"})
    form = choice.form.for_parameters(parameters) if isinstance(choice.form, SharedPolicy) else choice.form
    probe, stream = Rerun(PolicyChoice(choice.label, form, parameters), log), np.random.default_rng(1)
    first = probe.assign(stream)
    if all((probe.assign(stream) == first).all() for _ in range(PROBES)):
        raise LogError(
            f"{log.path}: {choice.label} does not assign at random, so that a randomisation test is not available"
        )
