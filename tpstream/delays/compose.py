"""Composition: delays one after another, each checked, so that a fault is told with the name of who made it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tpstream.delays.check import check_reported, check_schedule, check_times, spell_pulls
from tpstream.model.arrays import Floats
from tpstream.model.errors import DelayError, TpstreamError
from tpstream.model.protocols import ArrivalProcess, CalendarDelay, DelayProcess, Schedule

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
