"""What the explorer shows of a run: events added up in bins of time, of age and of arm, as they come.

Memory depends on the number of pulls (some 36 bytes each) and of arms, and not on the number of events. The events may
come from a log or, since an `Aggregate` is a subscriber of the bus, from a run that goes on.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpstream.analysis.regret import pseudo_regret
from tpstream.log.changes import Change, decode_change
from tpstream.log.schema import Header
from tpstream.log.sparse import nominal_times
from tpstream.looks.design import Reason
from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import LogError
from tpstream.model.events import (
    CHANGED,
    CLOSED,
    KIND_NAMES,
    LATE,
    NO_PULL,
    PARTIAL,
    PULL,
    STOPPED,
    Columns,
    Events,
    about_looks,
    pull_events,
)
from tpstream.model.pull_rows import longer
from tpstream.view.axis import Axis, merge_pairs
from tpstream.view.closed import ClosedPulls

CELLS = 2**20
"""Most bins of time and arm together: with many arms there are fewer bins of time."""
MOST_LAYERS = 20
"""With more arms than this, heat maps hold all arms together."""
CHUNK = 50_000
"""Events that are gathered before they are added: adding has a cost of its own."""
PER_ARM = ("indices", "probabilities")
"""What a log may have for every arm at a decision."""
NEEDED = ("time", "kind", "pull", "arm", "part", "value", "shown", *PER_ARM)
"""The columns that are used."""
KEY = "key"
"""The column that says what changed, in the log of decisions that are made for real."""
LOOK_COLUMNS = ("time", "kind", "pull", "arm", "part", "value")
MOST_LOOKS = 10_000
"""Events about looks, and changes, that are kept; more cannot be seen."""
KINDS = len(KIND_NAMES)
LARGEST_TIME, LARGEST_VALUE = 1e15, 1e100
"""Beyond these, sums and differences of numbers mean nothing any more."""
ROUNDING = 1e-9
"""Delays below this share of the time are rounding errors of real-valued times."""


class Resolution(NamedTuple):
    """How many bins there are; powers of two."""

    time: int
    heat: int
    """Of the time of the pull in heat maps."""
    age: int


FINE = Resolution(1024, 256, 128)
COARSE = Resolution(256, 128, 64)
"""For a page that gets all numbers anew every second."""


class Heat:
    """Parts that arrived, by the time of their pull, by an age, and by arm: how many they were and what they paid."""

    def __init__(self, layers: int, resolution: Resolution = FINE, number: type = np.int64) -> None:
        self.time, self.age = Axis(resolution.heat), Axis(resolution.age, origin=0.0)
        shape = (resolution.heat, resolution.age, layers)
        self.counts: NDArray[Any] = np.zeros(shape, dtype=number)
        self.sums = np.zeros(shape)

    def fit_times(self, times: Floats) -> None:
        """Make room for these times of pulls."""
        self._merge(self.time.fit(times), 0)

    def add(self, pulled: Floats, age: Floats, layer: Ints, value: Floats, weight: float = 1.0) -> None:
        """Add parts: when their pulls were made, how old these were, what the parts paid, how many each stands for."""
        if not len(age):
            return
        self._merge(self.age.fit(age), 1)
        column = self.time.places(pulled)
        first = int(column.min())
        shape = (int(column.max()) - first + 1, *self.counts.shape[1:])
        cell = np.ravel_multi_index((column - first, self.age.places(age), layer), shape)
        size, rows = int(np.prod(shape)), slice(first, first + shape[0])
        self.counts[rows] += _times(np.bincount(cell, minlength=size), weight).reshape(shape)
        self.sums[rows] += _times(np.bincount(cell, value, size), weight).reshape(shape)

    def _merge(self, doublings: int, axis: int) -> None:
        if doublings:
            merge_pairs(self.counts, doublings, axis)
            merge_pairs(self.sums, doublings, axis)


def _times(found: NDArray[Any], weight: float) -> NDArray[Any]:
    """Counts or sums for a sample in which each event stands for so many; unchanged, and whole, if for itself."""
    return found if weight == 1 else found * weight


class PullRows:
    """What is known of every pull, a row for each."""

    def __init__(self) -> None:
        self.count = 0
        self.time, self.paid = np.zeros(0), np.zeros(0)
        self.last = np.zeros(0, dtype=np.float32)
        """The age of the pull at its last part so far."""
        self.arm, self.parts, self.late = (np.zeros(0, dtype=np.int32) for _ in range(3))
        """The arm, the number of credited parts, the number of late ones."""
        self.weight = np.zeros(0, dtype=np.float32)
        """How many pulls of the run each stands for: 1 unless they are a sample."""

    def begin(self, time: Floats, arm: Ints, weight: float = 1.0) -> None:
        """Add rows for pulls that were just made."""
        first, self.count = self.count, self.count + len(time)
        if self.count > len(self.time):
            more = max(self.count, 2 * len(self.time)) - len(self.time)
            for name in ("time", "paid", "last", "arm", "parts", "late", "weight"):
                setattr(self, name, longer(getattr(self, name), more))
        rows = slice(first, self.count)
        self.time[rows], self.arm[rows], self.weight[rows] = time, arm, weight

    @property
    def decided(self) -> NDArray[Any]:
        """The arm of every pull."""
        return self.arm[: self.count]

    def average_weight(self) -> float:
        """How many pulls of the run each stands for on average; 1 without any."""
        return float(self.weight[: self.count].mean()) if self.count else 1.0

    def arrive(self, row: Ints, kind: Ints, age: Floats, value: Floats) -> None:
        """Note parts that arrived, in order of time."""
        self.last[row] = age  # of equal rows the last one counts
        for own, rows, weights in (
            (kind == PARTIAL, self.paid, value),
            (kind == PARTIAL, self.parts, None),
            (kind == LATE, self.late, None),
        ):
            if own.any():
                chosen = row[own]
                first, last = int(chosen.min()), int(chosen.max()) + 1
                found = np.bincount(chosen - first, None if weights is None else weights[own], last - first)
                rows[first:last] += found.astype(rows.dtype, copy=False)


class Aggregate:
    """Adds up the events of one run in bins; `hear` takes them as the bus has them, `add` as columns.

    Parameters
    ----------
    header
        What the run was.
    source
        What errors name: the path of the log.
    resolution
        How many bins there are.
    weighted
        Whether events are a sample, each of which stands for several.

    Examples
    --------
    >>> from tpstream import Scenario, simulate
    >>> from tpstream.log.schema import Header
    >>> header = Header(
    ...     scenario={}, policy="", kind="", parameters={}, seed=0, run=0, arms=[f"arm {arm}" for arm in range(10)],
    ...     means=[1.0] * 10, maxima=[2.0] * 10, span=100, horizon=20, groups=None, clairvoyant=False, versions={},
    ... )
    >>> aggregate = Aggregate(header)
    >>> run = simulate(Scenario.load("setting-1").with_(horizon=20), "uniform", sinks=[aggregate])
    >>> aggregate.flush()
    >>> aggregate.pulls.count, int(aggregate.counts[..., PULL].sum())
    (20, 20)
    """

    def __init__(
        self, header: Header, source: str = "the run", *, resolution: Resolution = FINE, weighted: bool = False
    ) -> None:
        arms, number = len(header.arms), np.float64 if weighted else np.int64
        bins = max(64, min(resolution.time, 2 ** (CELLS // max(arms, 1)).bit_length() // 2))
        layers = arms if arms <= MOST_LAYERS else 1
        self.header, self.source = header, source
        self.events = 0
        self.time = Axis(bins)
        self.counts: NDArray[Any] = np.zeros((bins, arms, KINDS), dtype=number)
        """The number of events, by bin of time, arm and kind."""
        self.sums = np.zeros((bins, arms, KINDS))
        """The sums of their values; that of pulls is what a clairvoyant policy was shown."""
        self.closed = ClosedPulls(bins, arms)
        """What closed pulls paid."""
        self.arm_sums = {name: np.zeros((bins, arms)) for name in PER_ARM}
        self.arm_counts = {name: np.zeros((bins, arms), dtype=np.int64) for name in PER_ARM}
        """The sums and the numbers of the finite indices and probabilities at decisions."""
        self.ages, self.delays = (Heat(layers, resolution, number) for _ in range(2))
        """By age at arrival, and by how long after its nominal time a part arrived."""
        self.pulls = PullRows()
        self.due = nominal_times(header)
        self.looks: list[tuple[Any, ...]] = []
        """The events about looks, a tuple of `LOOK_COLUMNS` for each."""
        self.changes: list[tuple[float, Change]] = []
        """When decisions began to be made in another way, and in which."""
        self.needed = NEEDED if header.decider is None else (*NEEDED, KEY)
        """The columns of a log that are used."""
        self._waiting: list[Events] = []
        self._waiting_events = 0

    def hear(self, events: Events) -> None:
        """Take the next events; they are added when there are enough of them, or with `flush`."""
        self._waiting.append(events)
        self._waiting_events += len(events)
        if self._waiting_events >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Add the events that are still waiting."""
        if self._waiting:
            self.add(Events.join(self._waiting).columns())
            self._waiting, self._waiting_events = [], 0

    def add(self, columns: Columns, weight: float = 1.0) -> None:
        """Add the next events, and for a sample how many each stands for; raises LogError for what cannot be."""
        if not len(columns["kind"]):
            return
        self._check(columns, columns["kind"] == PULL)
        self.events += len(columns["kind"])
        self.reach(columns["time"])
        self.note_looks(columns)
        self._note_changes(columns)
        columns = pull_events(columns)
        if not len(columns["kind"]):
            return
        is_pull, times = columns["kind"] == PULL, columns["time"]
        if is_pull.any():
            self.pulls.begin(times[is_pull], columns["arm"][is_pull], weight)
            for heat in (self.ages, self.delays):
                heat.fit_times(times[is_pull])
        self._add_bins(columns, is_pull, weight)
        self._add_parts(columns, weight)

    def note_looks(self, columns: Columns) -> None:
        """Keep the events about looks one by one: they are few."""
        chosen = np.flatnonzero(about_looks(columns["kind"]))[: MOST_LOOKS - len(self.looks)]
        if len(chosen):
            self.looks += zip(*(columns[name][chosen].tolist() for name in LOOK_COLUMNS), strict=True)

    def _note_changes(self, columns: Columns) -> None:
        """Keep the changes by the owners of a policy that decides for real."""
        if KEY in columns:
            for place in np.flatnonzero(columns["kind"] == CHANGED)[: MOST_LOOKS - len(self.changes)]:
                change = decode_change(self.source, columns[KEY][place])
                self.changes.append((float(columns["time"][place]), change))

    def reach(self, times: Floats) -> None:
        """Make room for these times."""
        doublings = self.time.fit(times)
        if doublings:
            for bins in (self.counts, self.sums, *self.arm_sums.values(), *self.arm_counts.values()):
                merge_pairs(bins, doublings)
            self.closed.merge(doublings)

    def average(self, name: str) -> Floats:
        """The mean of the finite indices or probabilities in each bin of time and for each arm; NaN without any."""
        means: Floats = np.full(self.arm_sums[name].shape, np.nan)
        np.divide(self.arm_sums[name], self.arm_counts[name], out=means, where=self.arm_counts[name] > 0)
        return means

    def outstanding(self) -> Floats:
        """What open pulls are expected to pay yet, at the end of each bin of time and for each arm.

        As in analysis/money.py: the means of the open pulls minus what these were credited with.
        """
        made, closed = (np.cumsum(self.counts[..., kind], axis=0) for kind in (PULL, CLOSED))
        credited, settled = (np.cumsum(self.sums[..., kind], axis=0) for kind in (PARTIAL, CLOSED))
        expected: Floats = self.header.known_means() * (made - closed) - (credited - settled)
        return np.where(made == closed, 0.0, expected)

    def regret(self) -> Floats:
        """The pseudo-regret at the end of each bin of time: the pulls' distances from the largest mean, added up."""
        return pseudo_regret(np.cumsum(self.counts[..., PULL], axis=0), self.header.known_means())

    def _check(self, columns: Columns, is_pull: Bools) -> None:
        """Refuse numbers for which there is no row or bin; the other rules of a log are for `check`."""
        made = self.pulls.count + np.cumsum(is_pull)
        pull, arm, arms = columns["pull"], columns["arm"], len(self.header.arms)
        expected = np.where(is_pull, made, np.clip(pull, 1, made))
        of_pull = columns["kind"] < NO_PULL
        for name, wrong, rule in (
            ("time", ~(np.abs(columns["time"]) <= LARGEST_TIME), f"times are at most {LARGEST_TIME:g}"),
            ("value", np.abs(columns["value"]) > LARGEST_VALUE, f"values are at most {LARGEST_VALUE:g}"),
            ("arm", (arm < 0) | (arm >= arms), f"the header has {arms} arms, from 0 on"),
            ("pull", of_pull & (pull != expected), "pulls are numbered 1, 2, ... as they are made"),
            (
                "part",
                of_pull & ((columns["part"] < 0) | (columns["part"] > self.header.span)),
                f"the span is {self.header.span}",
            ),
            ("part", (columns["kind"] == STOPPED) & ~np.isin(columns["part"], list(Reason)), "reasons are 1 to 5"),
        ):
            if wrong.any():
                place = int(np.argmax(wrong))
                raise LogError(
                    f"{self.source}: event {self.events + place}: {name} {columns[name][place]:g}; {rule}; correct it, "
                    f"`tpstream check` names every fault"
                )

    def _add_bins(self, columns: Columns, is_pull: Bools, weight: float) -> None:
        """Count every event in its bin of time, add its value, and add the indices of pulls."""
        place, arm, arms = self.time.places(columns["time"]), columns["arm"], len(self.header.arms)
        first = int(place.min())
        rows = slice(first, int(place.max()) + 1)
        shape = (rows.stop - first, arms, KINDS)
        cell, size = ((place - first) * arms + arm) * KINDS + columns["kind"], int(np.prod(shape))
        value = np.nan_to_num(columns["value"])
        self.counts[rows] += _times(np.bincount(cell, minlength=size), weight).reshape(shape)
        self.sums[rows] += _times(np.bincount(cell, value, size), weight).reshape(shape)
        closed = columns["kind"] == CLOSED
        self.closed.add(place[closed], arm[closed], value[closed], weight)
        for name in PER_ARM:
            numbers = columns.get(name)
            if numbers is not None and len(numbers):
                finite = np.isfinite(numbers)
                cell = (((place[is_pull] - first) * arms)[:, np.newaxis] + np.arange(arms))[finite]
                cells = shape[0] * arms
                found = np.bincount(cell, weights=numbers[finite], minlength=cells)
                self.arm_sums[name][rows] += found.reshape(shape[:2])
                self.arm_counts[name][rows] += np.bincount(cell, minlength=cells).reshape(shape[:2])

    def _add_parts(self, columns: Columns, weight: float) -> None:
        """Note the parts that arrived, also the late ones, at their pulls and in the heat maps."""
        arrived = (columns["kind"] == PARTIAL) | (columns["kind"] == LATE)
        time, kind, row, part, value = (columns[name][arrived] for name in ("time", "kind", "pull", "part", "value"))
        row, value = row - 1, np.nan_to_num(value)
        pulled = self.pulls.time[row]
        age = np.maximum(time - pulled, 0.0)
        self.pulls.arrive(row, kind, age, value)
        delay = age - self.due[np.maximum(part, 1) - 1]
        delay[delay < ROUNDING * np.maximum(np.abs(time), 1.0)] = 0.0
        layers = self.ages.counts.shape[2]
        layer = self.pulls.arm[row].astype(np.int64) if layers == len(self.header.arms) else np.zeros_like(row)
        self.ages.add(pulled, age, layer, value, weight)
        self.delays.add(pulled, delay, layer, value, weight)
