"""Response-adaptive randomisation by the probability of being best, as simulated for brar (Pawel and Held 2025).

Binary outcomes, Beta(1, 1) priors, a control with the rate 0.25, treatment 1, and further treatments with 0.30. The
published numbers are those of 10,000 trials of each cell. A trial rejects if the unpooled 95 % interval of treatment 1
less control is above 0. With delayed outcomes there is nothing published; those numbers are of an independent
simulation of 40,000 trials.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from tpstream.model.arrays import Floats
from tpstream.paper.immediate_trials import Trials, simulate_trials
from tpstream.paper.published import Effort, Number, mean, share

PUBLISHED_TRIALS, DELAYED_TRIALS = 10_000, 40_000
CONTROL, FURTHER = 0.25, 0.30
WIDTH = float(norm.isf(0.025))
FEWER = 0.1
"""By which share of all patients treatment 1 has fewer than the other arms on average, in S.1."""


NO_LIMITS, CAPPED = "", ",minimum=0.1,maximum=0.9"


class Cell(NamedTuple):
    """A design, and what was published of it."""

    patients: int
    treatments: int
    rate: float
    power: str
    burn_in: int
    limits: str
    successes: float
    on_first: float
    reject: float
    coverage: float
    bias: float
    fewer: float

    @property
    def words(self) -> str:
        """The design in words."""
        return (
            f"{self.patients} patients, {self.treatments + 1} arms, rate {self.rate}, power {self.power}, "
            f"burn-in {self.burn_in}{', 0.1 to 0.9' if self.limits else ''}"
        )

    @property
    def policy(self) -> str:
        """The allocation, as on the command line."""
        return f"best-probability:power={self.power},burn_in={self.burn_in}{self.limits}"

    @property
    def rates(self) -> tuple[float, ...]:
        """The probabilities of a success."""
        return CONTROL, self.rate, *(FURTHER,) * (self.treatments - 1)


CELLS = (
    Cell(200, 1, 0.25, "1", 0, NO_LIMITS, 0.2500, 0.4947, 0.0861, 0.8300, -0.0003, 0.4459),
    Cell(200, 1, 0.35, "1", 0, NO_LIMITS, 0.3242, 0.7415, 0.3563, 0.8411, 0.0301, 0.0929),
    Cell(200, 1, 0.35, "i/(2n)", 0, CAPPED, 0.3115, 0.6182, 0.3515, 0.9333, 0.0043, 0.0341),
    Cell(200, 1, 0.45, "0.5", 50, NO_LIMITS, 0.4025, 0.7618, 0.8096, 0.9239, 0.0121, 0.0026),
    Cell(200, 2, 0.35, "0.5", 50, NO_LIMITS, 0.3093, 0.4322, 0.2792, 0.9082, 0.0070, 0.0882),
    Cell(200, 3, 0.45, "1", 50, CAPPED, 0.3632, 0.4712, 0.5546, 0.9294, -0.0006, 0.0217),
    Cell(654, 1, 0.35, "1", 0, NO_LIMITS, 0.3356, 0.8583, 0.6190, 0.8696, 0.0323, 0.0171),
)
DELAYED = {
    0: (0.847, 0.356, 0.324),
    20: (0.885, 0.348, 0.321),
    50: (0.922, 0.341, 0.317),
    100: (0.939, 0.341, 0.310),
}
"""Coverage, rejections and successes of the second cell, by how many patients later outcomes are known."""


class Measured(NamedTuple):
    """What is measured of each trial; of the difference only where both arms have patients."""

    successes: Floats
    on_first: Floats
    reject: Floats
    coverage: Floats
    error: Floats
    fewer: Floats


def measure(cell: Cell, trials: Trials) -> Measured:
    """The numbers of every trial of a cell."""
    patients, rates = trials.patients, trials.estimates
    known = (patients[:, :2] > 0).all(axis=1)
    difference = (rates[:, 1] - rates[:, 0])[known]
    deviation = np.sqrt((rates * (1 - rates) / np.maximum(patients, 1))[known, :2].sum(axis=1))
    error = difference - (cell.rate - CONTROL)
    others = np.delete(patients, 1, axis=1).mean(axis=1)
    return Measured(
        successes=trials.successes.sum(axis=1) / cell.patients,
        on_first=patients[:, 1] / cell.patients,
        reject=(difference - WIDTH * deviation > 0).astype(np.float64),
        coverage=(np.abs(error) <= WIDTH * deviation).astype(np.float64),
        error=error,
        fewer=(patients[:, 1] < others - FEWER * cell.patients).astype(np.float64),
    )


def brar(effort: Effort) -> list[Number]:
    """Seven cells with outcomes that are known at once."""
    return [number for cell in CELLS for number in _compare(effort, cell)]


def _compare(effort: Effort, cell: Cell) -> Iterator[Number]:
    found = measure(cell, simulate_trials(effort, cell.policy, cell.rates, cell.patients))
    table = f"brar: {cell.words}"
    for what, ours, theirs in (
        ("successes", found.successes, cell.successes),
        ("patients on treatment 1", found.on_first, cell.on_first),
        ("bias", found.error, cell.bias),
    ):
        yield mean(table, what, ours, theirs, float(np.std(ours)), PUBLISHED_TRIALS, 0.00005)
    for what, ours, theirs in (
        ("rejections", found.reject, cell.reject),
        ("coverage", found.coverage, cell.coverage),
        ("S.1", found.fewer, cell.fewer),
    ):
        yield share(table, what, ours, theirs, PUBLISHED_TRIALS, 0.00005)


def brar_delayed(effort: Effort) -> list[Number]:
    """The second cell with outcomes that are known 0, 20, 50 and 100 patients later."""
    cell, numbers, table = CELLS[1], list[Number](), "brar's second cell, outcomes known later"
    for later, published in DELAYED.items():
        found = measure(cell, simulate_trials(effort, cell.policy, cell.rates, cell.patients, later=later))
        numbers += [
            share(table, f"coverage, {later} patients later", found.coverage, published[0], DELAYED_TRIALS),
            share(table, f"rejections, {later} patients later", found.reject, published[1], DELAYED_TRIALS),
            mean(
                table,
                f"successes, {later} patients later",
                found.successes,
                published[2],
                float(np.std(found.successes)),
                DELAYED_TRIALS,
                0.0005,
            ),
        ]
    return numbers
