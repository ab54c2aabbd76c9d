"""The endpoints of the patients in a log: who is counted, and what each one's endpoint is.

A patient is a pull, and the endpoint a weighted sum of its parts. It is known when every part with a weight other than
0 was delivered. A patient of whom such a part was lost or came too late has no endpoint; a default reward that stands
for a missing part is no evidence. If the scenario's trial counts drop-outs as failures, lost parts count as 0 instead.

Who is counted must not depend on outcomes. By the rule "due", patients are counted if the nominal time of their last
part with weight had come when the log ended: of two patients who came together, both are counted or none. By the rule
"known", everything counts that is known at the end; those who are known early, such as patients who died, then count
before others who came with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from tpstream.log.reader import Log
from tpstream.log.schema import Header
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import DataError, LogError, did_you_mean
from tpstream.model.events import Kind, concatenate, pull_events

ROUNDING = 1e-9
"""Due times are compared to this, since sums of times are rounded."""
Count = Literal["due", "known"]
Endpoint = Literal["sum", "last"] | Sequence[float]
RULES = {
    "due": "patients whose endpoint was due when the log ended",
    "known": "all patients whose endpoint is known",
}
"""The rules by which patients are counted, in words."""


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The patients of a log in the order in which they were assigned, and those of them that are counted."""

    header: Header
    assigned: Ints
    """The arm of every patient."""
    counted: Ints
    """The places of the counted patients, from 0."""
    value: Floats
    """The endpoint of every counted patient; 0 where it is not known."""
    known: Bools
    """Whether it is known."""
    probabilities: Floats | None
    """Of every counted patient: with which probability each arm was assigned; None if the log does not say."""
    why_not: str | None
    """Why there are no probabilities from which estimates could be made."""
    rule: str
    """Who is counted, in words."""

    @property
    def arm(self) -> Ints:
        """The arm of every counted patient."""
        return self.assigned[self.counted]


def read_endpoints(
    log: Log, endpoint: Endpoint | None = None, count: Count = "due", *, credited: bool = False
) -> Endpoints:
    """Read the patients of a log; `endpoint` is by default that of the scenario's trial, else the sum of all parts.

    `credited`: the endpoint is what a pull is credited with in the end, whatever it lost; it is known when the pull is
    closed, and due when its window is over.
    """
    log.require_all("an endpoint")
    header = log.header
    if count not in get_args(Count):
        raise DataError(f"count: must be one of {', '.join(get_args(Count))}, got {count!r}")
    weights = endpoint_weights(header, endpoint)
    names = ["time", "kind", "pull", "arm", "part", "value", "shown", "probability", "probabilities"]
    columns = pull_events(concatenate(list(log.counted(names)), names))
    kind, pull, time = columns["kind"], columns["pull"], columns["time"]
    is_pull = kind == Kind.PULL
    patients = int(np.count_nonzero(is_pull))
    if not patients:
        raise LogError(f"{log.path}: holds no decision, so there is no patient; choose another log")
    paid = kind == Kind.PARTIAL
    if not credited:
        paid &= ~_defaults(header, columns)
    weight = weights[columns["part"][paid] - 1]
    value = np.bincount(pull[paid] - 1, weights=weight * columns["value"][paid], minlength=patients)
    if header.payments or credited:
        known = np.zeros(patients, dtype=np.bool_)
        known[pull[kind == Kind.CLOSED] - 1] = True
    else:
        settled = pull[paid][weight != 0]
        if _lost_count_as_zero(log, weights):
            lost = np.isin(kind, [Kind.LATE, Kind.DROPPED])
            settled = np.concatenate([settled, pull[lost][weights[columns["part"][lost] - 1] != 0]])
        known = np.bincount(settled - 1, minlength=patients) == np.count_nonzero(weights)
    counted = np.arange(patients)
    if count == "due":
        counted = np.flatnonzero(_due(log, time[is_pull], float(time[-1]), weights, credited=credited))
    probabilities, why_not = _read_probabilities(log, columns, is_pull)
    return Endpoints(
        header=header,
        assigned=columns["arm"][is_pull],
        counted=counted,
        value=np.where(known, value, 0.0)[counted],
        known=known[counted],
        probabilities=None if probabilities is None else probabilities[counted],
        why_not=why_not,
        rule=RULES[count],
    )


def find_control(log: Log, control: str | None) -> int:
    """The number of the arm with which the others are compared."""
    names = log.header.arms
    asked = control or (log.header.scenario.get("trial") or {}).get("control") or names[0]
    if asked not in names:
        raise DataError(f"{log.path}: there is no arm {asked!r}{did_you_mean(asked, names)}; it has {', '.join(names)}")
    return names.index(asked)


def endpoint_weights(header: Header, endpoint: Endpoint | None) -> Floats:
    """The weight of each part."""
    trial = header.scenario.get("trial") or {}
    asked: Any = endpoint
    if asked is None:
        asked = trial.get("weights") or trial.get("endpoint") or "sum"
    if isinstance(asked, str):
        if asked not in ("sum", "last"):
            raise DataError(f'endpoint: must be "sum", "last" or a weight for each part, got {asked!r}')
        return np.ones(header.span) if asked == "sum" else np.eye(header.span)[-1]
    weights = np.array(asked, dtype=np.float64)
    if weights.shape != (header.span,) or not np.isfinite(weights).all() or not weights.any():
        raise DataError(f"endpoint: give {header.span} weights, one for each part and not all 0, got {list(asked)}")
    if header.payments and len(np.unique(weights)) > 1:
        raise DataError("endpoint: the parts of a log of payments are ages, of which all count alike; leave it out")
    return weights


def _lost_count_as_zero(log: Log, weights: Floats) -> bool:
    """Whether the trial counts lost parts with their worst value, which must be 0."""
    trial = log.header.scenario.get("trial") or {}
    if trial.get("dropouts") != "failure":
        return False
    if trial.get("direction") == "lower" or log.header.signed or (weights < 0).any():
        raise LogError(
            f"{log.path}: its trial counts drop-outs as failures, and the worst value of its endpoint is not 0; "
            f"estimates and tests are not available"
        )
    return True


def _defaults(header: Header, columns: dict[str, Any]) -> Bools:
    """Which events credit a default reward in place of a part that is missing."""
    kind, keys = columns["kind"], columns["pull"] * (header.span + 1) + columns["part"]
    if header.scenario.get("default_reward") is None:
        return np.zeros(len(kind), dtype=np.bool_)
    missing = keys[(kind == Kind.LATE) | (kind == Kind.DROPPED)]
    replaced: Bools = (kind == Kind.PARTIAL) & np.isin(keys, missing)
    return replaced


def _due(log: Log, made: Floats, last: float, weights: Floats, *, credited: bool) -> Bools:
    """Whose last part with weight was due when the log ended, by its nominal time; all in a run that was drained."""
    header = log.header
    if header.payments:
        age, end = float(header.window or header.span), last if header.until is None else header.until
    elif log.complete and header.scenario.get("drain"):
        return np.ones(len(made), dtype=np.bool_)
    else:
        nominal = header.scenario.get("visits") or range(header.span)
        age, end = float(nominal[int(np.flatnonzero(weights)[-1])]), last
        if credited and header.scenario.get("window") is not None:
            age = float(header.scenario["window"])
    if not log.complete:
        return made + age < end - ROUNDING  # not all of the last moment may be in a torn log
    return made + age <= end + ROUNDING


def _read_probabilities(log: Log, columns: dict[str, Any], is_pull: Bools) -> tuple[Floats | None, str | None]:
    """The probability of every arm at each assignment, or why there are none to use."""
    found, policy = columns.get("probabilities"), log.header.policy
    if found is None:
        if "probability" in columns and not np.isnan(columns["probability"]).all():
            return None, "the log has only the probability of the chosen arm, and that of every arm is needed"
        return None, 'the log has no probabilities; run it with log_detail = "probabilities"'
    if np.isnan(found).any():
        return None, f"{policy} does not know with which probabilities it assigns arms"
    if (found.max(axis=1) == 1.0).all():
        return None, f"{policy} is deterministic: its probabilities are 0 and 1"
    own = found[np.arange(len(found)), columns["arm"][is_pull]]
    if not (own > 0).all():
        place = int(np.flatnonzero(~(own > 0))[0])
        raise LogError(
            f"{log.path}: pull {place + 1} has an arm of probability {own[place]:g}; `tpstream check` says more"
        )
    return found, None
