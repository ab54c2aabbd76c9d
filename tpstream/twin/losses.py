"""Parts that were lost, in logs of runs: how often, and what the decisions would have paid without losses.

If nearly every loss is followed by the loss of all later periods, decisions drop out: the probability to have left by
each age is estimated as in a life table, and a decision counts as observed up to the age at which it left. Else each
part is lost on its own: what it would have paid is taken from another decision of the arm at that age, at random.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpstream.analysis.open_values import ArmAges
from tpstream.log.reader import Log
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.events import Kind, concatenate
from tpstream.twin.arrivals import round_off

FOR_GOOD = 0.9
"""The share of losses that are followed by another one, from which on decisions are said to drop out."""
MOST_POINTS = 12
"""Points of the curve of those who left."""

Places = tuple[Ints, Ints]
"""Decisions of an arm, and periods of age."""


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of one arm, and its decisions without them."""

    arm: ArmAges
    delay: dict[str, Any] | None
    """The delay that makes such losses; None if nothing was lost."""
    share: float
    """Of the periods that were observed, how many were lost."""


def read_lost(log: Log, made: Floats, sequence: Ints, arms: int) -> tuple[Places, ...]:
    """The lost parts of each arm: the decision, and the period of age in which the loss was known."""
    names = ["time", "kind", "pull"]
    columns = concatenate(list(log.counted(names)), names)
    is_lost = columns["kind"] == Kind.DROPPED
    pull, time = columns["pull"][is_lost] - 1, columns["time"][is_lost]
    age = np.floor(time - made[pull] + 1e-9).astype(np.int64)
    place = np.empty(len(sequence), dtype=np.int64)
    for arm in range(arms):
        own = sequence == arm
        place[own] = np.arange(np.count_nonzero(own))
    return tuple((place[pull[chosen]], age[chosen]) for chosen in (sequence[pull] == arm for arm in range(arms)))


def without_losses(arm: ArmAges, lost: Places, random: np.random.Generator) -> Losses:
    """What the decisions would have paid without losses, and the delay that makes such losses."""
    is_lost = np.zeros((arm.count, arm.periods), dtype=np.bool_)
    row, age = lost
    known = (row < arm.count) & (age >= 0) & (age < arm.periods)
    is_lost[row[known], age[known]] = True
    is_due = is_lost.any(axis=0) | (np.bincount(arm.age, minlength=arm.periods) > 0)  # a window may be longer than that
    is_seen = (np.arange(arm.periods) < arm.observed[:, np.newaxis]) & is_due
    is_lost &= is_seen
    if not is_lost.any():
        return Losses(arm, None, 0.0)
    share = float(is_lost.sum() / is_seen.sum())
    goes_on = is_lost[:, :-1] & is_seen[:, 1:]
    if goes_on.any() and float(is_lost[:, 1:][goes_on].mean()) >= FOR_GOOD:
        curve = _left(is_lost, is_seen)
        first = np.where(is_lost.any(axis=1), is_lost.argmax(axis=1), arm.periods)
        seen = replace(arm, observed=np.minimum(arm.observed, first))
        return Losses(seen, {"kind": "dropout", "curve": curve}, share)
    return Losses(_filled(arm, is_lost, is_seen, random), {"kind": "missing", "p": round_off(share)}, share)


def _left(is_lost: Bools, is_seen: Bools) -> list[list[float]]:
    """Ages, with the probability to have left by then: 1 minus the product of the shares that stay at each age."""
    before: Ints = np.cumsum(is_lost, axis=1) - is_lost
    at_risk = (is_seen & (before == 0)).sum(axis=0)
    leaves = (is_lost & (before == 0)).sum(axis=0)
    left = 1 - np.cumprod(1 - leaves / np.maximum(at_risk, 1))
    left = left[: int(np.flatnonzero(leaves)[-1]) + 1]
    ages = np.unique(np.round(np.linspace(0, len(left) - 1, MOST_POINTS)).astype(np.int64))
    return [[float(age), round_off(float(left[age]))] for age in ages]


def _filled(arm: ArmAges, is_lost: Bools, is_seen: Bools, random: np.random.Generator) -> ArmAges:
    """The arm with payments of other decisions in the place of lost ones."""
    parts = np.bincount(arm.row * arm.periods + arm.age, weights=arm.amount, minlength=arm.count * arm.periods)
    parts = parts.reshape(arm.count, arm.periods)
    rows, ages, amounts = [arm.row], [arm.age], [arm.amount]
    for age in np.flatnonzero(is_lost.any(axis=0)):
        others = np.flatnonzero(is_seen[:, age] & ~is_lost[:, age])
        missing = np.flatnonzero(is_lost[:, age])
        if len(others):
            rows.append(missing)
            ages.append(np.full(len(missing), age))
            amounts.append(parts[random.choice(others, len(missing)), age])
    return replace(arm, row=np.concatenate(rows), age=np.concatenate(ages), amount=np.concatenate(amounts))
