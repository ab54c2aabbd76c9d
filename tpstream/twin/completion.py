"""Whole traces of decisions that are still open: what is to come is taken from a decision of which all is known.

A decision that was observed for C whole periods of age keeps what it paid in them. Its later periods are those of a
donor: a decision of the same arm that was observed for the whole window, drawn among the nearest in three numbers at
age C: what was paid so far, the number of payments, and the age of the last one. Each number is divided by its standard
deviation among the donors, and the distance is the sum of the three differences. The nearest are the `NEAREST` closest
donors and all that are as close as the last of these, so that of many equal histories (nothing was paid) each may be
drawn. Open decisions with the same history draw at equal distances (systematic sampling), so that none of the nearest
is taken much more often than another. What was paid in a period that is not over is left out, since the donor's whole
period takes its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpstream.analysis.open_values import ArmAges
from tpstream.model.arrays import Floats, Ints

NEAREST = 10
"""Donors among which one is drawn; more if several are equally close."""
OWN = -1
"""Stands for the donor of a decision that needs none."""
MOST_AT_ONCE = 2_000_000
"""Distances that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Traces:
    """What the decisions of an arm paid, or would have paid, in every period of age."""

    parts: Floats
    """Of shape (decisions, periods)."""
    donor: Ints
    """The decision whose later periods each one has; `OWN` if it was observed for the whole window."""


def complete(arm: ArmAges, random: np.random.Generator) -> Traces:
    """The traces of all decisions of an arm of which at least one was observed for the whole window."""
    parts, counts = by_period(arm)
    donors = np.flatnonzero(arm.observed == arm.periods)
    chances = random.random(arm.count)
    chosen = np.full(arm.count, OWN)
    paid, number, last = np.zeros(arm.count), np.zeros(arm.count), np.full(arm.count, -1.0)
    for age in range(arm.periods):
        waiting = np.flatnonzero(arm.observed == age)
        if len(waiting):
            history = np.stack([paid, number, last], axis=1)
            chosen[waiting] = donors[_draw(history[waiting], history[donors], chances[waiting])]
        paid += parts[:, age]
        number += counts[:, age]
        last[counts[:, age] > 0] = age
    is_open = chosen != OWN
    later = np.arange(arm.periods) >= arm.observed[is_open, np.newaxis]
    parts[is_open] = np.where(later, parts[chosen[is_open]], parts[is_open])
    return Traces(parts, chosen)


def by_period(arm: ArmAges) -> tuple[Floats, Floats]:
    """What each decision paid in each period, and in how many payments, of shape (decisions, periods)."""
    place, size = arm.row * arm.periods + arm.age, arm.count * arm.periods
    shape, paid = (arm.count, arm.periods), (arm.amount != 0).astype(np.float64)
    parts: Floats = np.bincount(place, weights=arm.amount, minlength=size).astype(np.float64)
    counts: Floats = np.bincount(place, weights=paid, minlength=size).astype(np.float64)
    return parts.reshape(shape), counts.reshape(shape)


def _draw(histories: Floats, donors: Floats, chances: Floats) -> Ints:
    """The place of a donor for each history: one of the nearest, by numbers between 0 and 1.

    Most decisions share a few histories, above all that of no payment; each is compared once.
    """
    scale = donors.std(axis=0)
    scale[scale == 0] = 1.0
    kinds, kind_of, sizes = np.unique(donors, axis=0, return_inverse=True, return_counts=True)
    wanted, wanted_by = np.unique(histories, axis=0, return_inverse=True)
    spread = _evenly(wanted_by, chances)
    found = np.empty(len(histories), dtype=np.int64)
    for rows in _slices(len(wanted), max(1, MOST_AT_ONCE // len(donors))):
        apart = np.zeros((len(wanted[rows]), len(kinds)))
        for column in range(donors.shape[1]):
            apart += np.abs(wanted[rows, column, np.newaxis] - kinds[:, column]) / scale[column]
        order = np.cumsum((apart <= _farthest(apart, sizes)[:, np.newaxis])[:, kind_of], axis=1)
        own = np.flatnonzero((wanted_by >= rows.start) & (wanted_by < rows.stop))
        places = order[wanted_by[own] - rows.start]
        chosen = np.floor(spread[own] * places[:, -1]) + 1
        found[own] = np.argmax(places == chosen[:, np.newaxis], axis=1)
    return found


def _evenly(group: Ints, chances: Floats) -> Floats:
    """Numbers between 0 and 1 that lie at equal distances within each group, begun at the chance of its first one."""
    order = np.argsort(group, kind="stable")
    first, size = np.unique(group[order], return_index=True, return_counts=True)[1:]
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, size)
    spread: Floats = (rank + chances[order[first]][group]) / size[group]
    return spread


def _farthest(apart: Floats, sizes: Ints) -> Floats:
    """The distance of the last of the nearest donors, where so many donors are at each of the distances of a row."""
    most = min(NEAREST, apart.shape[1])
    near = np.argpartition(apart, most - 1, axis=1)[:, :most]
    near = np.take_along_axis(near, np.argsort(np.take_along_axis(apart, near, axis=1), axis=1), axis=1)
    enough = np.cumsum(sizes[near], axis=1) >= min(NEAREST, int(sizes.sum()))
    last = np.argmax(enough, axis=1)
    farthest: Floats = np.take_along_axis(apart, np.take_along_axis(near, last[:, np.newaxis], axis=1), axis=1)[:, 0]
    return farthest


def _slices(count: int, size: int) -> Iterator[slice]:
    """Consecutive rows, some at a time."""
    return (slice(first, first + size) for first in range(0, count, size))
