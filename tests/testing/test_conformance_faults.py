"""The conformance kit finds what is wrong: one bad plug-in for each of its checks, and the message that it gets."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from bad_plugins import Kind, fail, luck, luck_of_numpy
from scipy import stats

from tpstream.model.arrays import Floats
from tpstream.model.interfaces import Rewards, Schedule
from tpstream.model.world import Purpose, open_stream
from tpstream.testing import check_arrivals, check_delay, check_rewards

SPAN = 12


class Arm:
    """Uniform parts, unless something is wrong with them."""

    def __init__(
        self, wrong: Callable[["Arm", np.random.Generator, int], Any] | None = None, **declared: float
    ) -> None:
        self.mean, self.maximum = declared.get("mean", SPAN / 2), declared.get("maximum", float(SPAN))
        self.calls = 0
        self.kept = np.zeros((256, SPAN))
        self.wrong = wrong

    def sample(self, stream: np.random.Generator, pulls: int) -> Floats:
        """The parts of the next pulls."""
        self.calls += 1
        if self.wrong is not None:
            return self.wrong(self, stream, pulls)  # type: ignore[no-any-return]
        return stream.random((pulls, SPAN))


def rewards(wrong: Callable[..., Any] | None = None, groups: int | None = None, **declared: float) -> Kind:
    """A model whose arms all have that fault."""
    return Kind(lambda settings, arms, place: Rewards([Arm(wrong, **declared) for _ in arms], groups))  # noqa: ARG005


def _same_memory(arm: Arm, stream: np.random.Generator, pulls: int) -> Floats:
    if arm.calls == 1:
        arm.kept = stream.random((pulls, SPAN))
    return arm.kept[:pulls]


BAD_REWARDS: dict[str, tuple[Kind, str]] = {
    "wrong shape": (
        rewards(lambda _, s, n: s.random((n, 2))),
        r"must return float64 of shape \(256, 12\), got float64 \(256, 2\)",
    ),
    "integers": (rewards(lambda _, s, n: s.integers(2, size=(n, SPAN))), "got int64"),
    "negative": (rewards(lambda _, s, n: -s.random((n, SPAN))), "pull 1 of the arm has part 1 = -"),
    "not a number": (rewards(lambda _, s, n: s.random((n, SPAN)) * np.nan), "part 1 = nan"),
    "above the maximum": (rewards(maximum=6.1, mean=6.0), "a total of .*add up to at most 6.1"),
    "another mean": (rewards(mean=6.3), "declares the mean 6.3, but 20,480 pulls pay 5.99"),
    "too many groups": (rewards(groups=12, maximum=11.0), r"promises 12 groups, .* more than maximum / groups = 0.91"),
    "remembers": (
        rewards(lambda arm, s, n: s.random((n, SPAN)) / arm.calls),
        "twice from the same stream gives different",
    ),
    "global": (rewards(lambda _, s, n: s.random((n, SPAN)) * luck()), "draws from global randomness"),
    "global numpy": (
        rewards(lambda _, s, n: s.random((n, SPAN)) * luck_of_numpy()),
        "draws from global randomness",
    ),
    "its own memory": (rewards(_same_memory), "returns its own memory|twice from the same"),
    "raises": (rewards(fail), "raised KeyError: 'lost'"),
    "another number of pulls": (
        rewards(lambda _, s, n: s.random((max(n, 5), SPAN))),
        r"sample of 1 pulls must have the shape \(1, 12\), got \(5, 12\)",
    ),
    "too few arms": (Kind(lambda settings, arms, place: Rewards([Arm()], None)), "one model for each of 2 arms, got 1"),  # noqa: ARG005
    "mean above maximum": (rewards(mean=20.0), "mean must be from 0 to its maximum"),
    "no rewards": (Kind(lambda settings, arms, place: [Arm(), Arm()]), "build must return Rewards, got list"),  # noqa: ARG005
}


class FilledArm(Arm):
    """Uniform parts, of which `fill` leaves a wrong one."""

    def fill(self, held: Any, out: Floats) -> None:  # noqa: ARG002
        """Write the first block of the arm's stream, with one part that is another."""
        out[:] = open_stream(0, 0, Purpose.REWARDS, 0).random(out.shape)
        out[4, 2] += 0.5


def test_rewards_that_are_filled_wrongly() -> None:
    """A `fill` that does not write what `sample` returns is told the pull and the part."""
    kind = Kind(lambda settings, arms, place: Rewards([FilledArm() for _ in arms], None))  # noqa: ARG005
    with pytest.raises(AssertionError, match=r"fill writes \S+ for part 3 of pull 5 of arm 0, where sample returns"):
        check_rewards(kind, span=SPAN, name="bad")


@pytest.mark.parametrize("fault", BAD_REWARDS)
def test_bad_rewards(fault: str) -> None:
    """A reward model that breaks a promise is told which."""
    kind, message = BAD_REWARDS[fault]
    with pytest.raises(AssertionError, match=message):
        check_rewards(kind, span=SPAN, name="bad")


class Delay:
    """Applies a function to the schedule."""

    def __init__(self, change: Callable[..., Schedule], *, whole: Any = True) -> None:
        self.change, self.whole, self.calls = change, whole, 0

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002
        """What the function says."""
        self.calls += 1
        return self.change(self, schedule, stream)


def delay(change: Callable[..., Any], *, whole: Any = True) -> Kind:
    """A sampled delay."""
    return Kind(lambda settings, place: Delay(change, whole=whole))  # noqa: ARG005


def later(lags: Callable[[Delay, np.random.Generator, tuple[int, ...]], Any], *, whole: bool = True) -> Kind:
    """A sampled delay with these lags."""
    return delay(lambda d, s, stream: Schedule(s.offsets + lags(d, stream, s.offsets.shape), s.lost), whole=whole)


def _in_place(_: Any, schedule: Schedule, __: Any) -> Schedule:
    schedule.offsets[:] += 1
    return schedule


class Calendar:
    """A calendar that hands out by a function."""

    def __init__(self, reported: Callable[[Floats], Floats]) -> None:
        self.reported, self.whole = reported, True


def calendar(reported: Callable[[Floats], Floats]) -> Kind:
    """A calendar delay."""
    return Kind(lambda settings, place: Calendar(reported))  # noqa: ARG005


class Process:
    """A process of this generator function."""

    def __init__(self, run: Callable[[Any], Iterator[Any]]) -> None:
        self.run = run


def process(run: Callable[[Any], Iterator[Any]]) -> Kind:
    """A process delay."""
    return Kind(lambda settings, place: Process(run))  # noqa: ARG005


def _forgets(context: Any) -> Iterator[Any]:
    for time, part in context.arrivals[:-1]:
        yield context.wait_until(time)
        context.deliver(part)


def _repeats(context: Any) -> Iterator[Any]:
    for time, part in context.arrivals:
        yield context.wait_until(time)
        context.deliver(part)
        context.deliver(part)


def _hurries(context: Any) -> Iterator[Any]:
    yield context.wait_until(context.arrivals[0][0])
    for _, part in context.arrivals:
        context.deliver(part)


def _breaks(context: Any) -> Iterator[Any]:
    yield context.wait_until(context.arrivals[0][0])
    raise ZeroDivisionError


class Both(Delay):
    """Two forms in one."""

    def reported(self, times: Floats) -> Floats:
        """As they come."""
        return times


BAD_DELAYS: dict[str, tuple[Kind, str]] = {
    "early": (later(lambda *_: -1.0), r"pull 1 of arm '0', part 1 has a lag of -1.0"),
    "not a number": (later(lambda *_: np.nan), "part 1 has an offset of nan"),
    "infinite": (later(lambda *_: np.inf), "part 1 has an offset of inf"),
    "finds what is lost": (delay(lambda _, s, __: Schedule(s.offsets, s.lost & False)), "keep lost parts lost"),
    "wrong shape": (
        delay(lambda _, s, __: Schedule(s.offsets[:, :2], s.lost)),
        r"must be float64 of shape \(256, 12\)",
    ),
    "no schedule": (delay(lambda _, s, __: s.offsets), "must return a Schedule for .*, got ndarray"),
    "not whole": (later(lambda *_: 0.5), "declared whole; round it"),
    "remembers": (later(lambda d, *_: float(d.calls)), "delays of arm 0 differ if other arms .*: arms share a state"),
    "global": (later(lambda *_: luck()), "draws from global randomness"),
    "writes over its input": (delay(_in_place), "read-only"),
    "does not say whole": (later(lambda *_: 1.0, whole=None), "must say with `whole`"),  # type: ignore[arg-type]
    "two forms": (
        Kind(lambda *_: Both(lambda _, s, __: s)),
        "one of apply, reported, run, got apply and reported",
    ),
    "no form": (Kind(lambda settings, place: object()), "got none"),  # noqa: ARG005
    "calendar is early": (calendar(lambda times: times - 1.0), "arrives at time 1.0 is handed out at 0.0"),
    "calendar looks around": (calendar(lambda times: np.full_like(times, times.max())), "must be looked at by itself"),
    "calendar is not whole": (calendar(lambda times: times + 0.5), "declares whole times but hands out at 1.5"),
    "process forgets": (process(_forgets), "ended without part 12 of pull 1"),
    "process repeats": (process(_repeats), "settled part 1 of pull 1 twice"),
    "process hurries": (process(_hurries), "delivered part 2 of pull 1 at time 1.0, before it arrives at 2.0"),
    "process breaks": (process(_breaks), "bad raised ZeroDivisionError in pull 1"),
}


@pytest.mark.parametrize("fault", BAD_DELAYS)
def test_bad_delays(fault: str) -> None:
    """A delay that breaks a promise is told which."""
    kind, message = BAD_DELAYS[fault]
    with pytest.raises(AssertionError, match=message):
        check_delay(kind, span=SPAN, name="bad")


def test_a_delay_of_another_distribution() -> None:
    """Lags that are not of the distribution with which they are compared are found."""
    kind = later(lambda _, stream, shape: stream.poisson(2.0, shape))
    check_delay(kind, distribution=stats.poisson(2.0))
    with pytest.raises(AssertionError, match="lags are not of the declared distribution"):
        check_delay(kind, distribution=stats.poisson(2.2))


class Arrivals:
    """Times by a function."""

    def __init__(self, times: Callable[[Any, int], Any], *, regular: Any) -> None:
        self.times, self.regular = times, regular


def arrivals(times: Callable[[Any, int], Any], *, regular: Any = False) -> Kind:
    """An arrival process."""
    return Kind(lambda settings, place: Arrivals(times, regular=regular))  # noqa: ARG005


BAD_ARRIVALS: dict[str, tuple[Kind, str]] = {
    "fall": (arrivals(lambda _, n: np.arange(n, 0, -1.0)), "is before round 1; sort the times"),
    "at zero": (arrivals(lambda _, n: np.arange(n, dtype=float)), "the time of round 1 is 0.0"),
    "too few": (arrivals(lambda _, n: np.ones(n - 1)), r"times must be float64 of shape \(10000,\)"),
    "not regular": (
        arrivals(lambda _, n: np.arange(1.0, n + 1) * 2, regular=True),
        "declares to be regular, but round 1 is at time 2.0",
    ),
    "does not say regular": (arrivals(lambda _, n: np.arange(1.0, n + 1), regular=None), "must say with `regular`"),
    "global": (arrivals(lambda _, n: np.arange(1.0, n + 1) * luck()), "draws from global randomness"),
    "raises": (arrivals(fail), "raised KeyError for 10000 rounds"),
    "another distribution": (
        arrivals(lambda stream, n: np.cumsum(stream.exponential(1.1, n))),
        "gaps are not of the declared",
    ),
}


@pytest.mark.parametrize("fault", BAD_ARRIVALS)
def test_bad_arrivals(fault: str) -> None:
    """An arrival process that breaks a promise is told which."""
    kind, message = BAD_ARRIVALS[fault]
    with pytest.raises(AssertionError, match=message):
        check_arrivals(kind, distribution=stats.expon() if "distribution" in fault else None, name="bad")


def test_settings_that_do_not_fit() -> None:
    """Settings that a plug-in does not take are told as in a scenario."""
    with pytest.raises(AssertionError, match=r"geometric: does not take these settings: p: must be at most 1, got 2"):
        check_delay("geometric", {"p": 2})
