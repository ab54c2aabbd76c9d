"""What the arms of an adaptive trial pay, from a log with the probabilities of every assignment.

A rule that learns gives fewer patients to an arm that began badly by chance, and so does not give it those who would
correct it: the mean of its endpoints is too low on average, and intervals around it are too short. The estimates of
analysis/adaptive_weights.py allow for how patients were assigned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tpstream.analysis.adaptive_weights import WEIGHTS, Influence, Weights, weighted_mean
from tpstream.analysis.endpoints import Count, Endpoint, Endpoints, find_control, read_endpoints
from tpstream.log.reader import Log, read_log
from tpstream.model.display import Displayed, Summary, counted, number_text
from tpstream.model.errors import DataError
from tpstream.model.events import Kind

FEWEST = 2
"""Known endpoints that an arm needs for an estimate with an error."""
FEW = 50
"""Below so many, intervals of the arm may be too short (docs/inference.md)."""
USUAL_DECAY = 0.7
"""The exponent of two-point weights where the rule has no constant least probability, as in Hadad et al."""
ESTIMATORS = ("naive", "ipw", "aipw")


@dataclass(frozen=True, eq=False)
class Estimate:
    """One estimate: of an arm's mean endpoint, or of a difference of two."""

    arm: str
    against: str | None
    """The arm that is subtracted; None for a mean."""
    estimator: str
    weights: Weights | None
    """How patients are weighted; None for the naive estimate."""
    value: float | None
    """None where the estimate is not available."""
    error: float | None
    """The standard error."""
    low: float | None
    """The lower end of the 95 % interval."""
    high: float | None
    reason: str | None
    """Why the estimate, or its interval, is not available."""

    def columns(self) -> dict[str, Any]:
        """The estimate as a row of a table; None for what is not available."""
        row = vars(self) | {"estimate": self.value}
        names = ("arm", "against", "estimator", "weights", "estimate", "error", "low", "high", "reason")
        return {name: row[name] for name in names}


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveEstimates(Displayed):
    """Estimates of the arms of an adaptive trial.

    Get one from `adaptive_estimates`, which has an example.

    Parameters
    ----------
    log, policy
        The log's file and its policy.
    arms
        The names of the arms.
    control
        The arm with which the others are compared.
    patients, counted, known
        Of each arm: its patients, those who are counted, and those of them whose endpoint is known.
    rule
        Who is counted, in words.
    decay
        The exponent of the two-point weights.
    estimates
        All estimates, of means first, then of differences.
    notes
        What a reader should know, such as why estimates are not available.
    """

    log: str
    policy: str
    arms: tuple[str, ...]
    control: str
    patients: tuple[int, ...]
    counted: tuple[int, ...]
    known: tuple[int, ...]
    rule: str
    decay: float
    estimates: tuple[Estimate, ...] = field(default=())
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """The estimates as a DataFrame, a row for each."""
        return pd.DataFrame([one.columns() for one in self.estimates])

    def find(
        self, arm: str, estimator: str = "aipw", weights: Weights = "constant", *, against: str | None = None
    ) -> Estimate:
        """One estimate: of an arm's mean, or of its difference to another arm (`against`, the control)."""
        kind = None if estimator == "naive" else weights
        wanted = (arm, against, estimator, kind)
        for one in self.estimates:
            if (one.arm, one.against, one.estimator, one.weights) == wanted:
                return one
        raise DataError(f"there is no estimate {wanted}; the control is {self.control!r}")

    def rows(self, weights: Weights = "constant") -> list[dict[str, str]]:
        """The table that commands print: means, then differences; the last column has these weights."""
        table = []
        for number, arm in enumerate(self.arms):
            numbers = {"patients": f"{self.patients[number]:,}", "known": f"{self.known[number]:,}"}
            table.append({"": arm, **numbers, **self._cells(arm, None, weights)})
        for arm in self.arms:
            if arm != self.control:
                blank = {"patients": "", "known": ""}
                table.append({"": f"{arm} - {self.control}", **blank, **self._cells(arm, self.control, weights)})
        return table

    def _cells(self, arm: str, against: str | None, weights: Weights) -> dict[str, str]:
        kinds: dict[str, tuple[str, Weights]] = {"naive": ("naive", "uniform"), "AIPW": ("aipw", "uniform")}
        kinds[f"AIPW, {weights}"] = ("aipw", weights)
        return {title: _text(self.find(arm, *kind, against=against)) for title, kind in kinds.items()}

    def _summary(self) -> Summary:
        total = counted(sum(self.counted), "patient")
        return Summary(f"Estimates of {self.log} under {self.policy}: {total}", [self.rule], self.rows(), self.notes)


def _text(estimate: Estimate) -> str:
    """An estimate with its interval in brackets."""
    if estimate.value is None:
        return "not available"
    if estimate.low is None or estimate.high is None:
        return number_text(estimate.value)
    return f"{number_text(estimate.value)} ({number_text(estimate.low)} to {number_text(estimate.high)})"


def adaptive_estimates(
    log: Log | str | Path,
    *,
    endpoint: Endpoint | None = None,
    count: Count = "due",
    control: str | None = None,
    decay: float | None = None,
) -> AdaptiveEstimates:
    """Estimate each arm's mean endpoint, and differences, from a log whose assignment depended on outcomes.

    Beside the naive means stand those by inverse probabilities (`ipw`, and `aipw`, augmented by the means of earlier
    patients), each with uniform, constant-allocation and two-point weights (Hadad et al. 2021). `aipw` with uniform
    weights is unbiased; the other weights give shorter intervals, and some bias where arms have few patients.

    Parameters
    ----------
    log
        A log with the probabilities of every assignment (`log_detail = "probabilities"`): a file, or an open log.
    endpoint
        "sum" of the parts, "last" part, or a weight for each part; by default as the scenario's `[trial]` says, else
        the sum.
    count
        Who is counted: "due", patients whose endpoint was due when the log ended; "known", all whose endpoint is known.
    control
        The arm with which the others are compared; by default the trial's control, else the first arm.
    decay
        The exponent a of two-point weights, if the rule's least probability falls as t^-a, from 0 to below 1. By
        default 0 for a rule with a constant least probability, else 0.7.

    Returns
    -------
    AdaptiveEstimates
        The estimates, and the reasons why some are not available: of deterministic rules and of logs without the
        probabilities of all arms only naive means are given.

    Raises
    ------
    LogError
        If the log cannot be read or holds only the pulls.
    DataError
        If an argument does not fit the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, adaptive_estimates, simulate
    >>> arms = [{"name": "standard", "probability": 0.3}, {"name": "new", "probability": 0.5}]
    >>> scenario = Scenario(name="t", horizon=200, span=1, drain=True, rewards={"kind": "binary"}, arms=arms)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trial.arrows"
    ...     run = simulate(scenario, "best-probability", log=path, log_detail="probabilities")
    ...     found = adaptive_estimates(path)
    >>> best = found.find("new", against="standard")
    >>> best.value is not None and best.error > 0
    True
    """
    log = log if isinstance(log, Log) else read_log(log)
    patients = read_endpoints(log, endpoint, count)
    names = tuple(patients.header.arms)
    against = find_control(log, control)
    exponent = default_decay(patients) if decay is None else decay
    if not 0 <= exponent < 1:
        raise DataError(f"decay: must be at least 0 and below 1, got {exponent:g}")
    reasons = [not_available(patients, arm) for arm in range(len(names))]
    arms = len(names)
    return AdaptiveEstimates(
        log=str(log.path),
        policy=patients.header.policy,
        arms=names,
        control=names[against],
        patients=tuple(np.bincount(patients.assigned, minlength=arms).tolist()),
        counted=tuple(np.bincount(patients.arm, minlength=arms).tolist()),
        known=tuple(np.bincount(patients.arm[patients.known], minlength=arms).tolist()),
        rule=patients.rule,
        decay=exponent,
        estimates=tuple(_all_estimates(patients, names, against, reasons, exponent)),
        notes=tuple(_notes(log, patients, names, reasons)),
    )


def default_decay(patients: Endpoints) -> float:
    """The exponent of two-point weights as the rule's parameters say; never from the probabilities themselves.

    What is chosen by looking at the whole course would depend on outcomes.
    """
    parameters = patients.header.parameters
    constant = (
        patients.header.kind == "uniform"
        or parameters.get("minimum")
        or (parameters.get("epsilon") and not parameters.get("decay"))
    )
    return 0.0 if constant else USUAL_DECAY


def not_available(patients: Endpoints, arm: int) -> str | None:
    """Why there is no weighted estimate of an arm, in one line; None if there is one."""
    if patients.probabilities is None:
        return patients.why_not
    own = patients.known & (patients.arm == arm)
    if np.count_nonzero(own) < FEWEST:
        return f"fewer than {FEWEST} patients of the arm have a known endpoint"
    impossible = int(np.count_nonzero(patients.probabilities[:, arm] == 0))
    if impossible:
        return f"the arm's probability was 0 for {counted(impossible, 'patient')} of {len(patients.counted):,}"
    return None


def credited_estimates(log: Log) -> tuple[tuple[Estimate, Influence | None], ...]:
    """What a decision of each arm is credited with in the end, by AIPW with two-point weights: for `answer`.

    Beside each estimate stands what decisions add to its error; None where there is no estimate.
    """
    patients = read_endpoints(log, "sum", credited=True)
    decay, found = default_decay(patients), []
    for arm, name in enumerate(patients.header.arms):
        reason, kind = not_available(patients, arm), ("aipw", WEIGHTS[-1])
        influence = _influence(patients, arm, kind, decay, available=reason is None)
        found.append((_estimate(name, None, kind, influence, reason), influence))
    return tuple(found)


def _all_estimates(
    patients: Endpoints, names: Sequence[str], control: int, reasons: Sequence[str | None], decay: float
) -> Iterator[Estimate]:
    """Every estimate of every arm, then of the differences to the control."""
    kinds: list[tuple[str, Weights | None]] = [("naive", None)]
    kinds += [(estimator, weights) for estimator in ESTIMATORS[1:] for weights in WEIGHTS]
    every = range(len(names))
    found = {
        kind: [_influence(patients, arm, kind, decay, available=reasons[arm] is None) for arm in every]
        for kind in kinds
    }
    for arm in every:
        for kind in kinds:
            yield _estimate(names[arm], None, kind, found[kind][arm], reasons[arm])
    for arm in every:
        for kind in kinds:
            one, other = found[kind][arm], found[kind][control]
            both = None if one is None or other is None else one.minus(other)
            if arm != control:
                yield _estimate(names[arm], names[control], kind, both, reasons[arm] or reasons[control])


def _influence(
    patients: Endpoints, arm: int, kind: tuple[str, Weights | None], decay: float, *, available: bool
) -> Influence | None:
    """The estimate of an arm's mean; None if there is none."""
    own = patients.arm == arm
    estimator, weights = kind
    if weights is None:
        return _naive(patients, own)
    if not available or patients.probabilities is None:
        return None
    chance = patients.probabilities[:, arm]
    return weighted_mean(
        own, chance, patients.value, patients.known, weights, augmented=estimator == "aipw", decay=decay
    )


def _naive(patients: Endpoints, own: Any) -> Influence | None:
    """The mean of the arm's known endpoints, with its usual standard error."""
    chosen = own & patients.known
    count = int(np.count_nonzero(chosen))
    if count < FEWEST:
        return None
    mean = float(patients.value[chosen].mean())
    spread = np.where(chosen, patients.value - mean, 0.0) / np.sqrt(count * (count - 1))
    return Influence(mean, spread, count - 1)


def _estimate(
    arm: str, against: str | None, kind: tuple[str, Weights | None], found: Influence | None, reason: str | None
) -> Estimate:
    """An estimate, or why it is not available; without an interval if all endpoints are equal."""
    estimator, weights = kind
    if found is None:
        why = reason or "too few patients of an arm have a known endpoint"
        return Estimate(arm, against, estimator, weights, None, None, None, None, why)
    value, half = found.estimate, found.half_width
    if half == 0:
        return Estimate(arm, against, estimator, weights, value, None, None, None, "all known endpoints are equal")
    return Estimate(arm, against, estimator, weights, value, found.error, value - half, value + half, None)


def _notes(log: Log, patients: Endpoints, names: Sequence[str], reasons: Sequence[str | None]) -> Iterator[str]:
    """What a reader should know."""
    if log.truncated is not None:
        yield log.truncated
    if patients.why_not is not None:
        yield f"weighted estimates are not available: {patients.why_not}"
    else:
        yield from (
            f"weighted estimates of {name} are not available: {reason}"
            for name, reason in zip(names, reasons, strict=True)
            if reason is not None
        )
        known = np.bincount(patients.arm[patients.known], minlength=len(names))
        few = [name for arm, name in enumerate(names) if reasons[arm] is None and known[arm] < FEW]
        if few:
            yield f"fewer than {FEW} patients of {', '.join(few)} have a known endpoint; intervals may be too short"
    if len(log.columns(["kind"], [Kind.STOPPED])["kind"]):
        yield "a rule stopped the trial or closed arms; estimates do not correct for that"
    missing = int(np.count_nonzero(~patients.known))
    if missing:
        yield f"{counted(missing, 'counted patient')} without an endpoint; right if that does not depend on it"
