"""Delays one after another, and the times of decisions: what every delay and arrival process gives is checked.

User-written ones, too: an error names the delay or process, and the pull, part, time or round.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tpstream.model.arrays import Bools, Floats, Ints
from tpstream.model.errors import DelayError, user_code
from tpstream.model.interfaces import ArrivalProcess, CalendarDelay, DelayProcess, Schedule, SiteArrivals
from tpstream.model.limits import LARGEST
from tpstream.model.world import Purpose, Stage, Timing, World, open_stream

ROUNDS_PER_BATCH = 4096
"""Rounds that an engine simulates before control returns to its caller: for progress, and for other policies."""

Element = TypeVar("Element", bound=np.generic)


def nominal(pulls: int, span: int) -> Schedule:
    """The schedule of the paper's world: part j arrives j - 1 after the pull, and none is lost."""
    return _due(np.arange(span, dtype=np.float64), pulls)


def _due(visits: Floats, pulls: int) -> Schedule:
    """The schedule in which each part arrives at its visit, and none is lost."""
    return Schedule(np.tile(visits, (pulls, 1)), np.zeros((pulls, len(visits)), dtype=np.bool_))


def visit_faults(visits: Sequence[float] | None, span: int, spread: float) -> Iterator[str]:
    """What is wrong with the times at which the parts of a scenario are due, each with its key."""
    due = [float(part) for part in range(span)] if visits is None else visits
    if len(due) != span:
        yield f"span: {span} is not the number of visits, {len(due)}; leave span out"
    gaps = np.diff(due)
    if not np.isfinite(due).all() or due[0] < 0 or (gaps <= 0).any():
        yield f"visits: must be at least 0 and rise, got {due}; sort them"
    elif spread > due[0]:
        yield f"visit_spread: {spread:g} is more than the first visit, {due[0]:g}; lower it"
    elif len(gaps) and spread >= gaps.min() / 2:
        yield f"visit_spread: {spread:g} is not below half the least gap of the visits, {gaps.min():g}; lower it"


def sample_first(
    timing: Timing, rewards: Floats, arm: int, stream: np.random.Generator, *, first: int = 0, arm_name: str = ""
) -> Schedule:
    """When the parts of the arm's next pulls arrive after the visits and the sampled delays that come first."""
    due = _due(timing.nominal(rewards.shape[1]), len(rewards))
    if timing.visit_spread:
        shifts = stream.uniform(-timing.visit_spread, timing.visit_spread, rewards.shape)
        due = Schedule(np.maximum(due.offsets + shifts, 0.0), due.lost)
    return sample_schedule(timing.delays, rewards, arm, stream, timing.names, first=first, arm_name=arm_name, due=due)


def sample_schedule(
    delays: Sequence[DelayProcess],
    rewards: Floats,
    arm: int,
    stream: np.random.Generator,
    names: Sequence[str],
    *,
    first: int = 0,
    arm_name: str | None = None,
    due: Schedule | None = None,
) -> Schedule:
    """When the parts of the arm's next pulls arrive, for pulls that pay these rewards (pulls, span).

    For errors: `names` of the delays, how many pulls of the arm came `first`, and the name of the arm. `due` is the
    schedule before the first delay, by default that of the paper's world.
    """
    schedule = nominal(*rewards.shape) if due is None else due
    whole = bool((schedule.offsets == np.floor(schedule.offsets)).all())
    arm_name = str(arm) if arm_name is None else arm_name
    pulls = f"pulls {first + 1} to {first + len(rewards)} of arm {arm_name!r}"
    rewards = read_only(rewards)
    for delay, name in zip(delays, names, strict=True):
        before = Schedule(read_only(schedule.offsets), read_only(schedule.lost))
        with user_code(DelayError, name, f"for {pulls}"):
            schedule = delay.apply(before, rewards, arm, stream)
        if not isinstance(schedule, Schedule):
            raise DelayError(f"{name}: apply must return a Schedule for {pulls}, got {type(schedule).__name__}")
        check_array(schedule.offsets, before.offsets, f"{name}: offsets of {pulls}")
        check_array(schedule.lost, before.lost, f"{name}: lost of {pulls}")
        whole = whole and delay.whole
        _check_schedule(schedule, before, name, arm_name, first, whole=whole)
    return schedule


def _check_schedule(schedule: Schedule, before: Schedule, name: str, arm: str, first: int, *, whole: bool) -> None:
    """Raise unless the delay only moved parts to later times or lost them, and kept offsets whole if it must."""

    def check(good: Bools, values: Any, fault: str) -> None:
        if not good.all():
            row, column = (int(position) for position in np.argwhere(~good)[0])
            told = fault.format(values[row, column])
            raise DelayError(f"{name}: pull {first + row + 1} of arm {arm!r}, part {column + 1} has {told}")

    offsets, lags = schedule.offsets, schedule.offsets - before.offsets
    check(np.isfinite(offsets), offsets, "an offset of {}; give a finite time, or lose the part")
    check(lags >= 0, lags, "a lag of {}; give at least 0")
    check(schedule.lost >= before.lost, schedule.lost, "lost = {} after it was lost; keep lost parts lost")
    if whole:
        check(offsets == np.floor(offsets), offsets, "an offset of {} but the delay is declared whole; round it")


def check_array(array: object, like: np.ndarray[Any, Any], what: str) -> None:
    """Raise unless it is an array of the shape and type of another one."""
    if not isinstance(array, np.ndarray) or array.shape != like.shape or array.dtype != like.dtype:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise DelayError(f"{what} must be {like.dtype} of shape {like.shape}, got {got}")


@dataclass(frozen=True, eq=False)
class Calendars:
    """Several calendar delays, applied in their order and checked, as one calendar delay."""

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
            with user_code(DelayError, name, f"for {asked}"):
                times = delay.reported(before)
            check_reported(times, before, name, pull)
        return times


def check_reported(reported: Floats, times: Floats, name: str, pull: int | None = None) -> None:
    """Raise unless a calendar hands out nothing before it arrived; with `pull` the times are those of its parts."""
    check_array(reported, times, f"{name}: reported times" + ("" if pull is None else f" of pull {pull}"))
    good = (reported >= times) & (reported < np.inf)
    if not good.all():
        position = int(np.argmin(good))
        arrives = f"arrives at time {times.flat[position]}"
        what = f"what {arrives}" if pull is None else f"part {position + 1} of pull {pull}, which {arrives},"
        raise DelayError(
            f"{name}: {what} is handed out at {reported.flat[position]}; give a finite time that is not earlier"
        )


@dataclass(frozen=True, eq=False)
class LaterDraws:
    """What the later stages need for some pulls of one arm, drawn before it is known when parts get there."""

    lags: Floats
    """Of shape (sampled stages, pulls, span)."""
    limits: Floats
    """A part that gets to a stage later than this after its pull is lost; of the same shape."""
    services: Floats
    """Service times, of shape (queues, pulls, span): by part, or for a lone queue in the order of arrival at it."""


def make_stages(delays: Iterable[tuple[str, Any, str]]) -> tuple[Stage, ...]:
    """Later stages from forms (methods), delays and names; those of each form are numbered."""
    forms: dict[str, Literal["moves", "reported", "queue"]] = {"apply": "moves", "service_times": "queue"}
    seen: Counter[str] = Counter()
    stages = []
    for method, delay, name in delays:
        form = forms.get(method, cast("Literal['reported']", method))
        stages.append(Stage(form, delay, name, seen[form]))
        seen[form] += 1
    return tuple(stages)


def draw_later(
    timing: Timing, rewards: Floats, lost: Bools, arm: int, stream: np.random.Generator, services: Sequence[Any]
) -> LaterDraws:
    """Draw what the later stages need for pulls that pay these rewards (pulls, span), in the order of the stages.

    `lost` is what the first sampled delays lost; `services` are the streams of the queues.
    """
    pulls, span = rewards.shape
    sampled = [stage.delay for stage in timing.later if stage.form == "moves"]
    drawn = LaterDraws(
        np.zeros((len(sampled), pulls, span)),
        np.full((len(sampled), pulls, span), np.inf),
        np.zeros((len(timing.queues), pulls, span)),
    )
    for number, delay in enumerate(sampled):
        moves = delay.moves(read_only(rewards), arm, stream)
        if moves.lags is not None:
            drawn.lags[number] = moves.lags
        if moves.limits is not None:
            drawn.limits[number] = moves.limits
    for queue, times, stream_of_queue in zip(timing.queues, drawn.services, services, strict=True):
        if timing.lone_queue:
            served = np.arange(span) < np.count_nonzero(~lost, axis=1, keepdims=True)
            times[served] = queue.delay.service_times(stream_of_queue, int(served.sum()))
        else:
            times[:] = queue.delay.service_times(stream_of_queue, times.size).reshape(times.shape)
    return drawn


def pass_stages(
    stages: Sequence[Stage],
    times: Floats,
    lost: Bools,
    pulled: float | Floats,
    lags: Floats,
    limits: Floats,
    pull: int | None,
) -> tuple[Floats, Bools]:
    """When parts that reach the first of these stages at `times` leave the last; queues are skipped.

    `lags` and `limits` are those of the sampled stages for these parts, of shape (sampled stages, parts). The time at
    which a loss is known is delayed like a part.
    """
    for stage in stages:
        if stage.form == "moves":
            lost = lost | (times - pulled > limits[stage.index])
            lag = lags[stage.index]
            times = times + (lag * stage.delay.factor(pulled) if hasattr(stage.delay, "factor") else lag)
        elif stage.form == "reported":
            times = Calendars((stage.delay,), (stage.name,)).reported(times, pull)
    return times, lost


def arrival_times(process: ArrivalProcess, stream: np.random.Generator, horizon: int, name: str) -> Floats:
    """The times of all decisions: finite, above 0 and never falling."""
    with user_code(DelayError, name, f"for {horizon} rounds"):
        times = process.times(stream, horizon)
    _check_times(times, horizon, name)
    return times


def _check_times(times: Floats, horizon: int, name: str) -> None:
    """Raise unless decisions can be due at these times."""
    check_array(times, np.empty(horizon), f"{name}: times")
    for good, fault in (
        (np.isfinite(times), "the time of round {round} is {time}; give a finite time"),
        (times <= LARGEST, f"the time of round {{round}} is {{time}}; give times up to {LARGEST:g}"),
        (times[:1] > 0, "the time of round {round} is {time}; give times above 0"),
        (np.diff(times, prepend=-np.inf) >= 0, "round {round} at time {time} is before round {before}; sort the times"),
    ):
        if not good.all():
            before = int(np.argmin(good))
            told = fault.format(round=before + 1, time=times[before], before=before)
            raise DelayError(f"{name}: {told}")


def due_decisions(world: World) -> tuple[Floats, Ints | None]:
    """When the decisions of a run are due, and at which of its sites; None: there are no sites."""
    stream, timing = open_stream(world.seed, world.run, Purpose.ARRIVALS), world.timing
    horizon, name = world.problem.horizon, timing.arrivals_name
    if not hasattr(timing.arrivals, "at_sites"):
        return arrival_times(timing.arrivals, stream, horizon, name), None
    times, sites = cast("SiteArrivals", timing.arrivals).at_sites(stream, horizon)
    _check_times(times, horizon, name)
    return times, sites


def decision_times(world: World) -> Floats:
    """When the decisions of a run are due.

    Examples
    --------
    >>> from tpstream import Scenario
    >>> decision_times(Scenario.load("setting-1").with_(horizon=10).build_world(seed=1, run=0))[:3]
    array([1., 2., 3.])
    """
    return due_decisions(world)[0]


def read_only(array: NDArray[Element]) -> NDArray[Element]:
    """A view of the array that cannot be written to: user-written code must not change what it is given."""
    view = array.view()
    view.flags.writeable = False
    return view
