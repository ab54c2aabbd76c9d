"""Composition: delays one after another, each checked, so that a fault is told with the name of who made it.

Checks of what delays and arrival processes give, also those that are not ours.

When decisions are due, and how time is cut for the world outside the engines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Bools, Floats
from tpstream.model.errors import DelayError, TpstreamError
from tpstream.model.interfaces import ArrivalProcess, CalendarDelay, DelayProcess, Schedule
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import World


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


Result = TypeVar("Result")
Kept = TypeVar("Kept", bound=np.generic)


def nominal(pulls: int, span: int) -> Schedule:
    """The schedule of the paper's world: part j arrives j - 1 after the pull, and none is lost."""
    offsets = np.tile(np.arange(span, dtype=np.float64), (pulls, 1))
    return Schedule(offsets, np.zeros((pulls, span), dtype=np.bool_))


def sample_schedule(
    delays: Sequence[DelayProcess],
    rewards: Floats,
    arm: int,
    stream: np.random.Generator,
    names: Sequence[str],
    *,
    first: int = 0,
    arm_name: str | None = None,
) -> Schedule:
    """When the parts of the arm's next pulls arrive, for pulls that pay these rewards (pulls, span).

    For errors: `names` of the delays, how many pulls of the arm came `first`, and the name of the arm.
    """
    schedule = nominal(*rewards.shape)
    told, whole = str(arm) if arm_name is None else arm_name, True
    rewards = read_only(rewards)
    for delay, name in zip(delays, names, strict=True):
        before = Schedule(read_only(schedule.offsets), read_only(schedule.lost))
        pulls = spell_pulls(first, len(rewards), told)
        schedule = guarded(partial(delay.apply, before, rewards, arm, stream), name, pulls)
        whole = whole and delay.whole
        check_schedule(schedule, before, name, told, first=first, whole=whole)
    return schedule


def arrival_times(process: ArrivalProcess, stream: np.random.Generator, horizon: int, name: str) -> Floats:
    """The times of all decisions, checked."""
    times = guarded(partial(process.times, stream, horizon), name, f"{horizon} rounds")
    check_times(times, horizon, name)
    return times


@dataclass(frozen=True, eq=False)
class Calendars:
    """Calendar delays one after another, as one that checks them."""

    delays: tuple[CalendarDelay, ...]
    names: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether whole times stay whole."""
        return all(delay.whole for delay in self.delays)

    def reported(self, times: Floats, pull: int | None = None) -> Floats:
        """When what arrives at these times, those of the parts of `pull` if it is given, is handed out by the last."""
        for delay, name in zip(self.delays, self.names, strict=True):
            before = read_only(times)
            asked = f"times {before.min()} to {before.max()}" if pull is None else f"pull {pull}"
            times = guarded(partial(delay.reported, before), name, asked)
            check_reported(times, before, name, pull)
        return times


def guarded(call: Callable[[], Result], name: str, what: str) -> Result:
    """The result of the call; what a plug-in raises is told with its name."""
    try:
        return call()
    except TpstreamError:
        raise
    except Exception as error:
        raise DelayError(f"{name} raised {type(error).__name__} for {what}: {error}") from error


def read_only(array: NDArray[Kept]) -> NDArray[Kept]:
    """The array as one that cannot be written to: what came before must not change behind our back."""
    view = array.view()
    view.flags.writeable = False
    return view


ROUNDS_PER_BATCH = 4096
"""Rounds between two looks outside: for progress, and for the other policies of the same run."""


def decision_times(world: World) -> Floats:
    """When the decisions of a run are due."""
    stream, timing = open_stream(world.seed, world.run, Purpose.ARRIVALS), world.timing
    return arrival_times(timing.arrivals, stream, world.problem.horizon, timing.arrivals_name)
