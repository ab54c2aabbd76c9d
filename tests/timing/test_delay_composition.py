"""Composition: delays in order, grouped as one likes, and what a delay must not do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from delays_helper import build_delay, equal, sample
from hypothesis import given, strategies as st
from strategies import sampled_delays

from tpstream.model.arrays import Floats
from tpstream.model.errors import DelayError
from tpstream.model.interfaces import Schedule
from tpstream.timing.pipeline import Calendars, nominal, sample_schedule

THREE = st.tuples(*[sampled_delays(4, whole=False)] * 3)


@dataclass(frozen=True)
class Pair:
    """Two delays as one, each with a stream of its own."""

    first: Any
    second: Any
    whole: bool = False

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: object) -> Schedule:
        """One after the other."""
        between = self.first.apply(schedule, rewards, arm, stream)
        after: Schedule = self.second.apply(between, rewards, arm, stream)
        return after


@dataclass(frozen=True)
class Own:
    """A delay that always draws from the same new stream, whoever comes before it."""

    delay: Any
    seed: int
    whole: bool = False

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: object) -> Schedule:  # noqa: ARG002
        """With its own stream."""
        after: Schedule = self.delay.apply(schedule, rewards, arm, np.random.default_rng(self.seed))
        return after


@given(THREE, st.integers(0, 1000))
def test_grouping_does_not_matter(tables: tuple[dict[str, Any], ...], seed: int) -> None:
    """(a then b) then c is a then (b then c), to the last bit, on one stream or on a stream for each."""
    for delays in (
        [build_delay(table, 4) for table in tables],
        [Own(build_delay(table, 4), number) for number, table in enumerate(tables)],
    ):
        a, b, c = delays
        groupings = ([a, b, c], [Pair(a, b), c], [a, Pair(b, c)])
        one, other, third = (sample(grouping, 6, 4, seed=seed) for grouping in groupings)
        assert equal(one, other)
        assert equal(one, third)


LAGS = {"kind": "constant", "lag": 3}, {"kind": "geometric", "p": 0.4}, {"kind": "uniform", "high": 5, "whole": True}


@given(st.permutations([0, 1, 2]), st.integers(0, 1000))
def test_the_order_of_lags_does_not_matter(order: list[int], seed: int) -> None:
    """Whole lags add up, so that with a stream for each they may be listed in any order.

    Not so for real-valued ones (sums round), nor where a delay looks at the schedule: lump and dropout.
    """
    delays = [Own(build_delay(table), seed + number) for number, table in enumerate(LAGS)]
    assert equal(sample(delays, 6), sample([delays[number] for number in order], 6))


def test_where_the_order_matters() -> None:
    """A lump that comes before a lag of each part is torn apart; one that comes after it holds together."""
    lump, lag = build_delay({"kind": "lump"}), build_delay({"kind": "geometric", "p": 0.4})
    torn, whole = sample([lump, lag], 50).offsets, sample([lag, lump], 50).offsets
    assert (np.ptp(torn, axis=1) > 0).any()
    assert (np.ptp(whole, axis=1) == 0).all()


@given(st.lists(sampled_delays(4, whole=False), max_size=3))
def test_none_changes_nothing(tables: list[dict[str, Any]]) -> None:
    """The delay "none" anywhere in the list neither moves a part nor draws a number."""
    delays, none = [build_delay(table, 4) for table in tables], build_delay({"kind": "none"}, 4)
    for place in range(len(delays) + 1):
        assert equal(sample(delays, 6, 4), sample([*delays[:place], none, *delays[place:]], 6, 4))


def test_no_delays_are_the_papers_world() -> None:
    """Without delays part j arrives j - 1 after the pull and none is lost."""
    schedule = sample([], 2, 3)
    assert schedule.offsets.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert not schedule.lost.any()
    assert equal(schedule, nominal(2, 3))


def change(schedule: Schedule, value: float, row: int = 2, part: int = 3) -> Schedule:
    """The schedule with another offset at one place."""
    offsets = schedule.offsets.copy()
    offsets[row, part - 1] += value
    return Schedule(offsets, schedule.lost)


def find(schedule: Schedule) -> Schedule:
    """The schedule with nothing lost."""
    return Schedule(schedule.offsets, np.zeros_like(schedule.lost))


def overwrite(schedule: Schedule) -> Schedule:
    """The same object, changed."""
    schedule.offsets[:] -= 1
    return schedule


def fail(schedule: Schedule) -> Schedule:
    """No schedule at all."""
    raise KeyError(schedule.offsets.shape)


@dataclass(frozen=True)
class Bad:
    """A delay of a plug-in that does what it must not."""

    deed: Callable[[Schedule], Any]
    whole: bool = False

    def apply(self, schedule: Schedule, *_: object) -> Any:
        """Do it."""
        return self.deed(schedule)


FAULTS: dict[str, tuple[Bad, str]] = {
    "negative lag": (
        Bad(lambda s: change(s, -1)),
        "bad: pull 259 of arm 'low', part 3 has a lag of -1.0; give at least 0",
    ),
    "nan": (
        Bad(lambda s: change(s, np.nan)),
        "bad: pull 259 of arm 'low', part 3 has an offset of nan; give a finite time, or lose the part",
    ),
    "infinite": (
        Bad(lambda s: change(s, np.inf)),
        "bad: pull 259 of arm 'low', part 3 has an offset of inf; give a finite time, or lose the part",
    ),
    "found again": (
        Bad(find),
        "bad: pull 257 of arm 'low', part 1 has lost = False after it was lost; keep lost parts lost",
    ),
    "not whole": (
        Bad(lambda s: change(s, 0.5), whole=True),
        "bad: pull 259 of arm 'low', part 3 has an offset of 2.5 but the delay is declared whole; round it",
    ),
    "too few pulls": (
        Bad(lambda s: Schedule(s.offsets[1:], s.lost)),
        "bad: offsets of pulls 257 to 260 of arm 'low' must be float64 of shape (4, 5), got float64 (3, 5)",
    ),
    "wrong type of offsets": (
        Bad(lambda s: Schedule(s.offsets.astype(np.float32), s.lost)),
        "bad: offsets of pulls 257 to 260 of arm 'low' must be float64 of shape (4, 5), got float32 (4, 5)",
    ),
    "a list": (
        Bad(lambda s: Schedule(s.offsets.tolist(), s.lost)),
        "bad: offsets of pulls 257 to 260 of arm 'low' must be float64 of shape (4, 5), got list",
    ),
    "wrong type of lost": (
        Bad(lambda s: Schedule(s.offsets, s.offsets)),
        "bad: lost of pulls 257 to 260 of arm 'low' must be bool of shape (4, 5), got float64 (4, 5)",
    ),
    "no schedule": (
        Bad(lambda _: None),
        "bad: apply must return a Schedule for pulls 257 to 260 of arm 'low', got NoneType",
    ),
    "overwrites": (
        Bad(overwrite),
        "bad raised ValueError for pulls 257 to 260 of arm 'low': output array is read-only",
    ),
    "raises": (Bad(fail), "bad raised KeyError for pulls 257 to 260 of arm 'low': (4, 5)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_delay_is_named(fault: str) -> None:
    """What a delay must not do is told with its name, the pull of the arm and the part."""
    bad, message = FAULTS[fault]
    lose = build_delay({"kind": "missing", "p": 1})
    with pytest.raises(DelayError) as caught:
        sample_schedule(
            [lose, bad], np.ones((4, 5)), 0, np.random.default_rng(0), ["lose", "bad"], first=256, arm_name="low"
        )
    assert str(caught.value) == message


def test_rewards_cannot_be_changed_by_a_delay() -> None:
    """A delay that writes into the rewards is refused, and they stay as they were."""

    @dataclass(frozen=True)
    class Thief:
        whole: bool = True

        def apply(self, schedule: Schedule, rewards: Floats, *_: object) -> Schedule:
            """Take everything."""
            rewards[:] = 0
            return schedule

    rewards = np.ones((2, 2))
    with pytest.raises(DelayError, match="thief raised ValueError"):
        sample_schedule([Thief()], rewards, 0, np.random.default_rng(0), ["thief"])
    assert (rewards == 1).all()


@dataclass(frozen=True)
class Shift:
    """A calendar that hands out everything later, or wrongly earlier."""

    by: float
    whole: bool = True

    def reported(self, times: Floats) -> Floats:
        """Later by that much."""
        return times + self.by


def test_calendars_one_after_another() -> None:
    """Calendars in a row hand out what the ones before them handed out."""
    calendars = Calendars((Shift(1), build_delay({"kind": "reporting", "every": 7})), ("shift", "weekly"))
    assert calendars.reported(np.array([6.0, 7.0])).tolist() == [7, 14]
    assert calendars.whole


@pytest.mark.parametrize(("by", "got"), [(-1, "2.0"), (np.nan, "nan"), (np.inf, "inf")])
def test_a_calendar_that_is_early(by: float, got: str) -> None:
    """A calendar that hands something out before it arrived, or never, is named."""
    with pytest.raises(DelayError) as caught:
        Calendars((Shift(by),), ("shift",)).reported(np.array([3.0]))
    assert str(caught.value).startswith(f"shift: what arrives at time 3.0 is handed out at {got}; give a finite")
