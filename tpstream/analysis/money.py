"""Money: what was earned, what is outstanding and what was missed, up to every checkpoint.

After round t, with mu_i the mean of the arm that was pulled in round i:

- earned: the sum of all parts that were credited up to and including the time of round t;
- expected: the sum over rounds i <= t of mu_i; what the pulls pay on average, sooner or later;
- outstanding: the sum over pulls that are open after round t of mu_i minus what they were credited with so far; what is
  still to come, on average. It is not known what a part would have paid, so nothing is taken off for one that is known
  to be lost before its pull is closed;
- late: the sum of the parts that arrived after their pull was closed, which are never credited;
- lost parts: how many parts are known never to arrive; what they would have paid is in no log.

So earned + outstanding is what is expected, but for the closed pulls: these paid more or less than their means, by
chance and because of late and lost parts.

Closed pulls are added in the order of their closing, then open ones in the order of their numbers, and the parts of a
pull in the order of their arrival. So the sums are the same, bit for bit, in every engine and from a log. A part that
was hidden counts when it arrived, and not when it is repeated at the closing.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpstream.analysis.columns import TABLES
from tpstream.analysis.intervals import paired_interval, t_interval
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import (
    CLOSED,
    COLUMN,
    DROPPED,
    LATE,
    PARTIAL,
    PULL,
    Columns,
    Events,
    pull_events,
    schema_array,
)
from tpstream.model.numba_support import compiled, compiled_loop

if TYPE_CHECKING:
    import pandas as pd  # slow to load: imported where a table is made

MEASURES = ("earned", "outstanding", "late", "lost_parts")
"""What a run reports where rewards are money, each with a value for every checkpoint."""
COLUMNS = ("earned", "expected", "outstanding", "late", "lost_parts")
"""The columns of the table `money` that have a mean and an interval."""
ROW, OLDEST, NEWEST, OPEN, LOST = range(5)
"""Places of the ledger's cursor: the row of the next checkpoint, the oldest pull that may be open, the newest pull, how
many pulls are open, how many parts are lost."""
MOMENT, SETTLED, TOO_LATE = range(3)
"""Places of the ledger's sums: the time of the last decision, what closed pulls were credited with, late parts."""


class Curves(NamedTuple):
    """What happened in a run up to each checkpoint; the last row is for the end of the events."""

    counts: Ints
    """Pulls of every arm since the last checkpoint, (checkpoint, arm)."""
    earned: Floats
    outstanding: Floats
    late: Floats
    lost_parts: Ints
    open: Ints
    """How many pulls are open."""


class Ledger(NamedTuple):
    """What is known of each pull so far, and the curves, of which the rows of past checkpoints are filled."""

    rounds: Ints
    """The checkpoints."""
    means: Floats
    arms: Ints
    """For each pull by its number: its arm while it is open, else -1."""
    paid: Floats
    """For each pull: what it was credited with."""
    cursor: Ints
    sums: Floats
    curves: Curves


class Account:
    """Follows the events of a run; a subscriber of the bus, and what reads logs.

    Parameters
    ----------
    means
        The true mean of each arm.
    rounds
        The checkpoints.
    horizon
        The largest number of a pull.
    """

    def __init__(self, means: Floats, rounds: Ints, horizon: int) -> None:
        rows = len(rounds) + 1
        self._ledger = Ledger(
            rounds=rounds,
            means=means,
            arms=np.full(horizon + 1, -1),
            paid=np.zeros(horizon + 1),
            cursor=np.array([0, 1, 0, 0, 0]),
            sums=np.array([-np.inf, 0.0, 0.0]),
            curves=Curves(
                counts=np.zeros((rows, len(means)), dtype=np.int64),
                earned=np.zeros(rows),
                outstanding=np.zeros(rows),
                late=np.zeros(rows),
                lost_parts=np.zeros(rows, dtype=np.int64),
                open=np.zeros(rows, dtype=np.int64),
            ),
        )

    def hear(self, events: Events) -> None:
        """Take the next events."""
        self.add(events.columns())

    def add(self, columns: Columns) -> None:
        """Take the next events as columns; the numbers of arms and pulls are not checked."""
        counted = pull_events(columns)
        names = ("time", "kind", "round", "pull", "arm", "value")
        add_events(self._ledger, *(schema_array(counted[name], COLUMN[name]) for name in names))

    def curves(self) -> Curves:
        """The curves; checkpoints that were not reached have what is known at the end of the events."""
        fill_rows(self._ledger)
        return self._ledger.curves

    def values(self) -> dict[str, Floats | Ints]:
        """The measures of the run, by name."""
        curves = self.curves()
        return {name: getattr(curves, name)[:-1] for name in MEASURES}


@compiled_loop
def add_events(ledger: Ledger, time: Floats, kind: Bytes, round: Ints, pull: Ints, arm: Ints, value: Floats) -> None:
    """Take events; a checkpoint's row is filled before the first event that it does not know of."""
    cursor, sums = ledger.cursor, ledger.sums
    for event in range(kind.size):
        number = pull[event]
        if kind[event] == PULL:
            sums[MOMENT] = time[event]
        # What comes after the moment of a decision is known at the next decision only.
        reached = round[event] if time[event] == sums[MOMENT] else round[event] + 1
        while cursor[ROW] < ledger.rounds.size and ledger.rounds[cursor[ROW]] < reached:
            fill_row(ledger, cursor[ROW])
            cursor[ROW] += 1
        if kind[event] == PULL:
            ledger.curves.counts[cursor[ROW], arm[event]] += 1
            ledger.arms[number] = arm[event]
            cursor[NEWEST] = max(cursor[NEWEST], number)
            cursor[OPEN] += 1
        elif kind[event] == PARTIAL:
            ledger.paid[number] += value[event]
        elif kind[event] == CLOSED:
            sums[SETTLED] += ledger.paid[number]
            ledger.arms[number] = -1
            cursor[OPEN] -= 1
        elif kind[event] == LATE:
            sums[TOO_LATE] += value[event]
        elif kind[event] == DROPPED:
            cursor[LOST] += 1


@compiled
def fill_row(ledger: Ledger, row: int) -> None:
    """Write what is known now to a row of the curves."""
    cursor, sums, curves = ledger.cursor, ledger.sums, ledger.curves
    while cursor[OLDEST] <= cursor[NEWEST] and ledger.arms[cursor[OLDEST]] < 0:
        cursor[OLDEST] += 1
    earned, outstanding = sums[SETTLED], 0.0
    for number in range(cursor[OLDEST], cursor[NEWEST] + 1):
        if ledger.arms[number] >= 0:
            earned += ledger.paid[number]
            outstanding += ledger.means[ledger.arms[number]] - ledger.paid[number]
    curves.earned[row], curves.outstanding[row], curves.late[row] = earned, outstanding, sums[TOO_LATE]
    curves.lost_parts[row], curves.open[row] = cursor[LOST], cursor[OPEN]


@compiled_loop
def fill_rows(ledger: Ledger) -> None:
    """Write what is known now to the rows that are left."""
    for row in range(ledger.cursor[ROW], ledger.rounds.size + 1):
        fill_row(ledger, row)


def money_table(
    found: Mapping[str, Mapping[str, Floats | Ints]],
    regret: Mapping[str, Floats],
    means: Floats,
    rounds: Ints,
    places: Ints,
) -> "pd.DataFrame":
    """The table `money`: for each policy and round at these places the mean over runs of each measure, with intervals.

    `found` has for each policy its measures by name, and `regret` the pseudo-regret, all of the shape (runs, rounds);
    what the pulls are expected to pay is what the best arm would pay on average minus the pseudo-regret.
    """
    frames = []
    for policy, measures in found.items():
        columns: dict[str, object] = {"policy": policy, "round": rounds[places], "runs": len(regret[policy])}
        expected = rounds * means.max() - regret[policy]
        for name in COLUMNS:
            values = expected if name == "expected" else measures[name]
            curve = t_interval(np.asarray(values, dtype=np.float64)[:, places])
            columns |= {name: curve.mean, f"{name}_low": curve.low, f"{name}_high": curve.high}
        frames.append(frame(columns))
    return stacked(frames, "money")


def money_contrasts(
    found: Mapping[str, tuple[Ints, Floats]], regret: Mapping[str, Floats], most: float, against: str | None = None
) -> "pd.DataFrame":
    """The table `money_contrasts`: every two policies, or all others against one, paired by the numbers of their runs.

    `found` has for each policy the numbers of its runs and what they earned, `regret` their pseudo-regrets, all in the
    end; `most` is the largest possible regret. What is expected is the same number for all policies minus the regret.
    """
    rows = []
    pairs = combinations(found, 2) if against is None else [(policy, against) for policy in found if policy != against]
    for first, second in pairs:
        runs, here, there = np.intersect1d(found[first][0], found[second][0], return_indices=True)
        earned = paired_interval(found[first][1][here], found[second][1][there])
        expected = paired_interval(-regret[first][here], -regret[second][there], most)
        names = {"first": first, "second": second, "runs": len(runs)}
        rows.append({**names, **earned.columns("earned"), **expected.columns("expected")})
    return stacked([frame(rows)] if rows else [], "money_contrasts")


def frame(rows: Any, columns: list[str] | None = None) -> "pd.DataFrame":
    """A table of rows or columns."""
    import pandas as pd  # noqa: PLC0415 (a short run that prints its result needs no pandas)

    return pd.DataFrame(rows, columns=columns)


def stacked(frames: "Sequence[pd.DataFrame]", table: str) -> "pd.DataFrame":
    """The frames of policies as one table; with its columns and without rows if no policy has a finished run."""
    import pandas as pd  # noqa: PLC0415 (as in frame)

    return pd.concat(frames, ignore_index=True) if frames else frame([], [one.name for one in TABLES[table]])
