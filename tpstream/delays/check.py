"""Checks of what delays and arrival processes give, also those that are not ours."""

from typing import Any

import numpy as np

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import DelayError
from tpstream.model.protocols import Schedule


def check_schedule(
    schedule: Schedule, before: Schedule, name: str, arm: str, *, first: int = 0, whole: bool = False
) -> None:
    """Raise unless the delay of that name only moved parts to later times, or lost them.

    `first` is how many pulls of the arm came before these; with `whole` the offsets must be whole numbers.
    """
    pulls = spell_pulls(first, len(before.offsets), arm)
    if not isinstance(schedule, Schedule):
        raise DelayError(f"{name}: apply must return a Schedule for {pulls}, got {type(schedule).__name__}")
    check_array(schedule.offsets, before.offsets, f"{name}: offsets of {pulls}")
    check_array(schedule.lost, before.lost, f"{name}: lost of {pulls}")
    where = _Place(name, arm, first)
    offsets, lags = schedule.offsets, schedule.offsets - before.offsets
    where.check(np.isfinite(offsets), offsets, "an offset of {}; give a finite time, or lose the part")
    where.check(lags >= 0, lags, "a lag of {}; give at least 0")
    where.check(schedule.lost >= before.lost, schedule.lost, "lost = {} after it was lost; keep lost parts lost")
    if whole:
        fault = "an offset of {} but the delay is declared whole; round it"
        where.check(offsets == np.floor(offsets), offsets, fault)


def spell_pulls(first: int, count: int, arm: str) -> str:
    """Which pulls of an arm an error is about: so many, after the first ones."""
    return f"pulls {first + 1} to {first + count} of arm {arm!r}"


class _Place:
    """Where a fault is."""

    def __init__(self, name: str, arm: str, first: int) -> None:
        self.name, self.arm, self.first = name, arm, first

    def check(self, good: Bools, values: Any, fault: str) -> None:
        """Raise about the first value that is not good."""
        if good.all():
            return
        row, column = (int(place) for place in np.argwhere(~good)[0])
        told = fault.format(values[row, column])
        raise DelayError(f"{self.name}: pull {self.first + row + 1} of arm {self.arm!r}, part {column + 1} has {told}")


def check_array(array: object, like: np.ndarray[Any, Any], what: str) -> None:
    """Raise unless it is an array of that shape and type."""
    if not isinstance(array, np.ndarray) or array.shape != like.shape or array.dtype != like.dtype:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DelayError(f"{what} must be {like.dtype} of shape {like.shape}, got {got}")


def check_times(times: Floats, horizon: int, name: str) -> None:
    """Raise unless an arrival process gave a time for every decision, above 0 and never falling."""
    check_array(times, np.empty(horizon), f"{name}: times")
    if not np.isfinite(times).all():
        round = int(np.argmin(np.isfinite(times))) + 1
        raise DelayError(f"{name}: the time of round {round} is {times[round - 1]}; give a finite time")
    if times[0] <= 0:
        raise DelayError(f"{name}: the time of round 1 is {times[0]}; give times above 0")
    steps = np.diff(times)
    if (steps < 0).any():
        round = int(np.argmax(steps < 0)) + 2
        raise DelayError(
            f"{name}: round {round} at time {times[round - 1]} is before round {round - 1}; sort the times"
        )


def check_reported(reported: Floats, times: Floats, name: str, pull: int | None = None) -> None:
    """Raise unless a calendar hands out nothing before it arrived; with `pull` the times are those of its parts."""
    check_array(reported, times, f"{name}: reported times" + ("" if pull is None else f" of pull {pull}"))
    good = (reported >= times) & (reported < np.inf)
    if not good.all():
        place = int(np.argmin(good))
        arrives = f"arrives at time {times.flat[place]}"
        what = f"what {arrives}" if pull is None else f"part {place + 1} of pull {pull}, which {arrives},"
        raise DelayError(
            f"{name}: {what} is handed out at {reported.flat[place]}; give a finite time that is not earlier"
        )
