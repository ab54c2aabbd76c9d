"""Random histories of patients, and the events that tell them: for tests of looks."""

from dataclasses import dataclass

import numpy as np

from tpstream.model.arrays import Floats, Ints
from tpstream.model.events import CLOSED, DROPPED, PARTIAL, PULL, Events


@dataclass(frozen=True, eq=False)
class History:
    """Patients with their parts: when each is known or found to be lost; infinite for never."""

    arm: Ints
    entered: Floats
    values: Floats
    known: Floats
    lost: Floats

    def events(self) -> Events:
        """All of it, in the order of time; at one time in that of the kinds."""
        rows = [(time, PULL, row + 1, self.arm[row], 0, np.nan) for row, time in enumerate(self.entered)]
        for row, part in np.ndindex(*self.values.shape):
            for kind, time in ((PARTIAL, self.known[row, part]), (DROPPED, self.lost[row, part])):
                if np.isfinite(time):
                    value = self.values[row, part] if kind == PARTIAL else np.nan
                    rows.append((time, kind, row + 1, self.arm[row], part + 1, value))
        for row in range(len(self.arm)):
            ends = np.minimum(self.known[row], self.lost[row])
            if np.isfinite(ends).all():
                rows.append((ends.max(), CLOSED, row + 1, self.arm[row], 0, 0.0))
        rows.sort(key=lambda event: event[:2])
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        time, kind, pull, arm, part, value = columns
        numbers = np.arange(len(rows))
        return Events(numbers, time, kind.astype(np.int8), numbers, pull, arm, part, value)


def random_history(seed: int, visits: Floats, arms: int, patients: int, *, binary: bool = False) -> History:
    """Patients who come at random times, some at the same; parts that come early or late, are lost, or never come."""
    random = np.random.default_rng(seed)
    shape = patients, len(visits)
    entered = np.sort(random.integers(1, patients + 2, patients).astype(np.float64))
    due = entered[:, np.newaxis] + visits
    late = due + np.where(random.random(shape) < 0.5, 0.0, random.integers(0, 4, shape))
    late = np.where(random.random(shape) < 0.2, np.maximum(due - 1, entered[:, np.newaxis]), late)
    fate = random.random(shape)
    values = random.integers(0, 2, shape).astype(np.float64) if binary else random.normal(size=shape)
    known, lost = np.where(fate < 0.8, late, np.inf), np.where(fate > 0.9, late, np.inf)
    return History(random.integers(0, arms, patients), entered, values, known, lost)
