"""What another policy would have earned on the decisions of a log: `evaluate`, and what it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.analysis.answer_arms import unreliable
from tpstream.analysis.open_values import FEWEST, skewed_interval
from tpstream.log.reader import Log, read_log
from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import DataError, PolicyError, did_you_mean
from tpstream.model.units import count_of
from tpstream.replay.replay import find_policy_of
from tpstream.scenario.policy_choice import PolicyChoice, PolicySpec
from tpstream.twin.evaluation import LOGGED, Estimate, Evaluation
from tpstream.twin.kept_value import kept_value, paid_so_far
from tpstream.twin.model_answer import twin_answer
from tpstream.twin.propensities import Propensities, read_propensities
from tpstream.twin.rejection import NOT_ASKED, Rejection, told_events, wanted_rows
from tpstream.twin.weighted import Weighted, effective_size, finished, weighted_values

REPLAYED = "replay with rejection"
FEWEST_REPLAYS = 10
"""Replays of a learning policy, whose variance is part of the error."""
ROUNDING = 1e-9
"""How far the probabilities of an allocation may be from 1 in sum."""


def evaluate(
    log: Log | str | Path,
    policy: PolicySpec | None = None,
    *,
    allocation: Mapping[str, float] | None = None,
    assume_random: bool = False,
    seed: int = 0,
    replays: int = 50,
    twin: bool = True,
) -> Evaluation:
    """Estimate what another policy would have earned per decision on a log, many of whose decisions are still paying.

    An allocation, or the policy `uniform`, is estimated by weights, in three ways. A policy that learns is asked at
    every decision, and those on which it agrees with the log are kept at random, so that it decides for a known share
    of the traffic.

    Parameters
    ----------
    log
        A log, imported or of a run, with the probability of every decision: a file, or a log that is open already.
    policy
        The policy: a name, a dictionary or an object, as in `simulate`.
    allocation
        Instead of a policy: the probability of each arm by its name; arms that are left out get none.
    assume_random
        Whether, without probabilities, it may be assumed that chance alone decided: they are then estimated by the
        arms' shares over time.
    seed, replays
        The seed of the random numbers of a policy that learns, and how often it is asked anew; results are averaged.
    twin
        Whether a twin of the log (`fit`) is asked, too, for an answer that is based on a model.

    Returns
    -------
    Evaluation
        Estimates, intervals, what is estimated, and what was assumed.

    Raises
    ------
    DataError
        If probabilities are not known, or an argument does not fit the log.
    LogError
        If the log cannot be read, is of a trial with looks, or never tried what the policy would do.
    PolicyError
        If the policy does not fit the world of the log.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tpstream import Scenario, evaluate, simulate
    >>> arms = [{"name": "old", "probability": 0.3}, {"name": "new", "probability": 0.8}]
    >>> scenario = Scenario(name="t", horizon=600, span=20, rewards={"kind": "binary"}, arms=arms)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.arrows"
    ...     run = simulate(scenario, "uniform", log=path, log_detail="probabilities")
    ...     found = evaluate(path, allocation={"new": 1.0})
    >>> [one.estimator for one in found.estimates]
    ['inverse propensity', 'self-normalised', 'doubly robust', 'as logged']
    """
    log = log if isinstance(log, Log) else read_log(log)
    if (policy is None) == (allocation is None):
        raise DataError("evaluate: name a policy or an allocation, one of the two")
    if replays < FEWEST_REPLAYS:
        raise DataError(f"replays: must be at least {FEWEST_REPLAYS}, got {replays}")
    known = read_propensities(log, assume_random=assume_random)
    asked: PolicyChoice | Floats
    if allocation is not None:
        label = ", ".join(f"{arm}={share:g}" for arm, share in allocation.items())
        asked = read_allocation(log, allocation)
        found = _of_allocation(log, known, label, asked)
    else:
        assert policy is not None  # noqa: S101 (one of the two is given)
        asked = choice = _choose(log, policy)
        if choice.form.name == "uniform":
            asked = np.full(len(log.header.arms), 1 / len(log.header.arms))
            found = _of_allocation(log, known, choice.label, asked)
        else:
            found = _of_learner(log, known, choice, seed, replays)
    if not twin:
        return found
    answer = twin_answer(log, known.decisions.arm, asked, seed)
    return replace(found, twin=answer, notes=(*found.notes, answer.note(found.policy)))


def read_allocation(log: Log, allocation: Mapping[str, float]) -> Floats:
    """The probability of every arm; refused if an arm is unknown, or the numbers are no probabilities of arms."""
    names = log.header.arms
    for arm, share in allocation.items():
        if arm not in names:
            hint = did_you_mean(arm, names)
            raise DataError(f"allocation: {log.path} has no arm {arm!r}{hint}; it has {', '.join(names)}")
        if not 0 <= share <= 1:
            raise DataError(f"allocation: {arm}={share:g} is no probability; give numbers from 0 to 1")
    shares = np.array([float(allocation.get(arm, 0.0)) for arm in names])
    if abs(shares.sum() - 1) > ROUNDING:
        raise DataError(f"allocation: the probabilities sum to {shares.sum():.6g}, not to 1")
    return shares


def _choose(log: Log, policy: PolicySpec) -> PolicyChoice:
    """The policy that is meant; refused if it needs to be shown what no log shows."""
    choice = find_policy_of(log, policy)
    if choice.form.clairvoyant:
        raise PolicyError(f"{choice.label}: is shown what a decision pays before it does; a log cannot show that")
    return choice


def _of_allocation(log: Log, known: Propensities, label: str, shares: Floats) -> Evaluation:
    """The three estimates for a fixed allocation."""
    decisions, arm = known.decisions.ages, known.decisions.arm
    rows, used = np.meshgrid(np.arange(decisions.count), np.flatnonzero(shares))
    known.require_support(rows.ravel(), used.ravel())
    ages = _usable(log, known, shares > 0)
    values = weighted_values(decisions, arm, known.chance, shares, ages)
    naive = weighted_values(finished(decisions), arm, known.chance, shares, ages)
    last = decisions.observed >= ages
    effective = effective_size((shares[arm] / known.chance)[last])
    names = [name for name, share in zip(log.header.arms, shares, strict=True) if share]
    estimand = f"What a decision pays in the end if arms are taken with fixed probabilities ({label})"
    notes = list(known.notes)
    if known.estimated:
        notes.append("with estimated probabilities, the interval of inverse propensity is wider than need be")
    return _evaluation(
        log,
        known,
        (label, dict(zip(log.header.arms, shares.tolist(), strict=True))),
        {name: (values[name], naive[name].value, effective) for name in values},
        ages,
        estimand=estimand,
        reason=_withheld(known, names, ages, effective),
        notes=notes,
    )


def _of_learner(log: Log, known: Propensities, choice: PolicyChoice, seed: int, replays: int) -> Evaluation:
    """The estimate for a policy that learns."""
    decisions, arm, names = known.decisions.ages, known.decisions.arm, log.header.arms
    share = known.smallest
    horizon = sure_number(decisions.count, share)
    rejection = Rejection(choice, replace(log.header.problem(), horizon=horizon), told_events(log, known.decisions))
    kept: list[Bools] = []
    for sequence in np.random.SeedSequence(seed).spawn(replays):
        own, others = map(np.random.default_rng, sequence.spawn(2))
        found = rejection.keep(wanted_rows(known.chance, share, others), own)
        asked = np.flatnonzero(found.decided != NOT_ASKED)
        known.require_support(asked, found.decided[asked])
        if found.rows.any():
            kept.append(found.rows)
    if not kept:
        raise DataError(
            f"{log.path}: {choice.label} never agrees with a decision that can be kept ({share:.2g} of them); the log "
            f"is too short for it"
        )
    used = np.bincount(arm[np.any(kept, axis=0)], minlength=len(names)) > 0
    ages = _usable(log, known, used)
    value = kept_value(decisions, arm, len(names), kept, ages)
    naive = paid_so_far(decisions, kept, ages)
    number = float(np.mean([np.count_nonzero(rows) for rows in kept]))
    estimand = (
        f"What a decision of {choice.label} pays in the end, on average over its first {horizon:,}, if it decides for "
        f"{share:.3g} of the traffic of the log; with all of it, more decisions are made until a payment comes, and "
        f"more is learned in the same time"
    )
    return _evaluation(
        log,
        known,
        (choice.label, None),
        {REPLAYED: (value, naive, effective_size(np.mean(kept, axis=0)[decisions.observed >= ages]))},
        ages,
        estimand=estimand,
        reason=_withheld(known, [name for name, is_used in zip(names, used, strict=True) if is_used], ages, number),
        notes=list(known.notes),
        kept=number,
        thinning=share,
    )


def sure_number(decisions: int, share: float) -> int:
    """The number of decisions that a replay keeps nearly always: two standard deviations below the expectation."""
    return max(int(share * decisions - 2 * np.sqrt(decisions * share * (1 - share))), 1)


def _usable(log: Log, known: Propensities, used: Bools) -> int:
    """The number of ages that enough decisions of all arms in use have reached; refused if there is none."""
    table = known.decisions.by_arm()
    usable = {name: arm.usable() for name, arm, one in zip(log.header.arms, table.arms, used, strict=True) if one}
    name = min(usable, key=usable.__getitem__)
    if not usable[name]:
        raise DataError(f"{log.path}: fewer than {FEWEST} decisions for {name!r} are old enough to say what they pay")
    return usable[name]


def _too_young(known: Propensities, ages: int) -> list[str]:
    """The arms whose decisions cannot be completed: fewer have reached the last age than have not, and than needed."""
    decisions = known.decisions
    arms = zip(decisions.header.arms, decisions.by_arm().arms, strict=True)
    reached = [(name, arm.count, int(np.count_nonzero(arm.observed >= ages))) for name, arm in arms]
    return [name for name, count, old in reached if old < min(count - old, FEWEST)]


def _withheld(known: Propensities, names: Sequence[str], ages: int, effective: float) -> str | None:
    """Why no interval is given; None if it is."""
    if effective < FEWEST:
        return (
            f"intervals are withheld: the estimate rests on {effective:.0f} decisions, and an interval needs {FEWEST}"
        )
    for name, arm in zip(known.decisions.header.arms, known.decisions.by_arm().arms, strict=True):
        reason = unreliable(arm, ages) if name in names else None
        if reason is not None:
            return f"intervals are withheld: of arm {name!r}, {reason}"
    return None


def _evaluation(
    log: Log,
    known: Propensities,
    policy: tuple[str, Mapping[str, float] | None],
    found: Mapping[str, tuple[Weighted, float, float]],
    ages: int,
    *,
    estimand: str,
    reason: str | None,
    notes: Sequence[str],
    **rest: Any,
) -> Evaluation:
    """The result, with what the log's own decisions pay beside the estimates."""
    decisions, header = known.decisions.ages, log.header
    young = _too_young(known, ages)
    every = [np.ones(decisions.count, dtype=np.bool_)]
    own = None if young else kept_value(decisions, known.decisions.arm, len(header.arms), every, ages)
    estimates = [
        _estimate(name, value, naive, effective, own, given=reason is None)
        for name, (value, naive, effective) in found.items()
    ]
    if own is not None:
        reached = float(np.count_nonzero(decisions.observed >= ages))
        estimates.append(
            _estimate(LOGGED, own, paid_so_far(decisions, every, ages), reached, None, given=reason is None)
        )
    else:
        notes = [*notes, f"what the log's own decisions pay is not known: those for {', '.join(young)} are too young"]
    if ages < decisions.periods:
        whole = count_of(decisions.periods, header.time_unit)
        notes = [*notes, f"the window is {whole}; fewer than {FEWEST} decisions of an arm are older than shown"]
    return Evaluation(
        log=str(log.path),
        policy=policy[0],
        allocation=policy[1],
        estimates=tuple(estimates),
        estimand=estimand,
        decisions=decisions.count,
        open=int(np.count_nonzero(decisions.observed < decisions.periods)),
        ages=ages,
        unit=header.time_unit or "unit",
        currency=header.currency or header.scenario.get("currency"),
        reason=reason,
        notes=tuple(notes),
        **({"kept": None, "thinning": None} | rest),
    )


def _estimate(
    name: str, found: Weighted, naive: float, effective: float, own: Weighted | None, *, given: bool
) -> Estimate:
    """An estimate as a row; without intervals unless they are given."""
    low, high = found.interval() if given else (None, None)
    difference = none_low = none_high = None
    if own is not None:
        difference = found.value - own.value
        if given:
            none_low, none_high = skewed_interval(difference, found.errors - own.errors)
    return Estimate(
        estimator=name,
        value=found.value,
        low=low,
        high=high,
        error=found.error if given else None,
        effective=effective,
        naive=naive,
        difference=difference,
        difference_low=none_low,
        difference_high=none_high,
    )
