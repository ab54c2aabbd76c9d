"""What is known of each patient of a trial, and since when: gathered from the events of a run.

A part is known from its event of kind partial on. It is lost from the event that says so on, or since its pull was
closed without it; what comes later than that does not count.
"""

from typing import NamedTuple

import numpy as np

from tpstream.looks.design import Design
from tpstream.model.arrays import Bytes, Floats, Ints
from tpstream.model.events import CLOSED, DROPPED, PARTIAL, PULL, Events, pull_events
from tpstream.model.numba_support import compiled_loop


class Patients(NamedTuple):
    """Arrays with a row for each patient, in the order in which they were enrolled."""

    arm: Ints
    """-1 for one who has not come yet."""
    entered: Floats
    """When the patient was enrolled; infinite for one who has not come yet."""
    values: Floats
    """Of each part, (patients, span)."""
    known: Floats
    """Since when each part is known; infinite if it is not."""
    lost: Floats
    """Since when each part is lost; infinite if it is not."""
    last: Floats
    """The time of the last event: a single number."""


def no_patients(design: Design) -> Patients:
    """Room for as many patients as the design can enrol."""
    shape = design.horizon, len(design.weights)
    return Patients(
        np.full(design.horizon, -1),
        np.full(design.horizon, np.inf),
        np.zeros(shape),
        np.full(shape, np.inf),
        np.full(shape, np.inf),
        np.zeros(1),
    )


def add_events(patients: Patients, events: Events) -> None:
    """Write what these events tell; parts that are repeated since they were withheld count at their true time."""
    if events.shown is None:
        rows = (events.time, events.kind, events.pull, events.arm, events.part, events.value)
    else:
        columns = pull_events(events.columns())
        names = ("time", "kind", "pull", "arm", "part", "value")
        rows = tuple(columns[name] for name in names)  # type: ignore[assignment]
    _add(patients, *rows)


@compiled_loop
def _add(patients: Patients, time: Floats, kind: Bytes, pull: Ints, arm: Ints, part: Ints, value: Floats) -> None:
    for event in range(len(time)):
        what, row, column, now = kind[event], pull[event] - 1, part[event] - 1, time[event]
        if what == PULL:
            patients.arm[row] = arm[event]
            patients.entered[row] = now
        elif what == PARTIAL:
            patients.values[row, column] = value[event]
            patients.known[row, column] = now
        elif what == DROPPED:
            patients.lost[row, column] = min(patients.lost[row, column], now)
        elif what == CLOSED:
            for other in range(patients.values.shape[1]):
                if patients.known[row, other] > now:
                    patients.lost[row, other] = min(patients.lost[row, other], now)
        if what <= DROPPED and now > patients.last[0]:
            patients.last[0] = now
