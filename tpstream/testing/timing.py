"""The checks of when things happen: `check_arrivals` for decisions, `check_delay` for the parts of pulls."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import Kind
from tpstream.model.interfaces import ArrivalKind, BuildContext, CalendarDelay, DelayKind, DelayProcess, Schedule
from tpstream.model.world import BLOCK, Purpose, Timing, open_stream
from tpstream.testing.runs import check_timing
from tpstream.testing.subject import Subject, check_arms, check_builds, check_distribution, check_repeatable, watched
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.kinds import FORMS
from tpstream.timing.pipeline import (
    Calendars,
    arrival_times,
    check_reported,
    make_stages,
    read_only,
    sample_schedule,
)

SPAN, ARMS, DECISIONS = 6, 2, 60
"""Of the worlds in which arrival processes are tried."""
START = date(2024, 1, 1)
"""The first day of the worlds in which delays and arrival processes are tried, in days: a Monday."""


def check_arrivals(
    kind: ArrivalKind | str,
    settings: Mapping[str, Any] | None = None,
    *,
    horizon: int = 10_000,
    folder: str | Path = ".",
    distribution: Any = None,
    name: str | None = None,
) -> None:
    """Check that an arrival process keeps what arrival processes promise.

    It gives a time for every decision, above 0 and never falling, and round t at time t if it says that it is regular;
    equal streams give equal times, and no other randomness is used; no run depends on those before it; runs decide at
    its times, in both engines alike.

    Parameters
    ----------
    kind
        The arrival process as it is registered, or its name once it is installed or loaded.
    settings
        Keys of the `[arrivals]` table besides `kind`.
    horizon
        How many decisions are timed.
    folder
        Where relative file names in the settings start.
    distribution
        A distribution of scipy.stats to compare the gaps between decisions with, if they are independent.
    name
        What a report of a fault calls the process, if it is given as an object.

    Raises
    ------
    AssertionError
        If the process breaks a promise; the text says which.

    Examples
    --------
    >>> from scipy import stats
    >>> from tpstream.testing import check_arrivals
    >>> check_arrivals("poisson", {"rate": 2.0}, distribution=stats.expon(scale=0.5))
    """
    with watched(ARRIVALS, kind, name) as subject:
        given = subject.settings(subject.definition.settings, settings)
        names = [f"arm-{arm + 1}" for arm in range(ARMS)]
        context = BuildContext(names, SPAN, Path(folder), horizon, time_unit="day", start=START)
        build = partial(subject.definition.build, given, context)
        process = build()
        if not isinstance(getattr(process, "regular", None), bool):
            subject.fail("must say with `regular` (true or false) whether round t is at time t")

        def draw(seed: int, rounds: int = horizon, by: Any = process) -> Floats:
            return arrival_times(by, open_stream(seed, 0, Purpose.ARRIVALS), rounds, subject.name)

        check_builds(subject, "times", lambda run: [draw(run, by=build())])
        check_repeatable(subject, "times", lambda seed: [draw(seed)])
        times = draw(0)
        if process.regular and not np.array_equal(times, np.arange(1, horizon + 1)):
            subject.fail(
                f"declares to be regular, but round 1 is at time {times[0]} and round {horizon} at {times[-1]}"
            )
        draw(0, 1)
        if distribution is not None:
            check_distribution(subject, "gaps", np.diff(times, prepend=0.0), distribution)
        rounds = min(horizon, DECISIONS)
        events = check_timing(
            subject, lambda: Timing(arrivals=build(), arrivals_name=subject.name), SPAN, ARMS, rounds
        ).events
        if not np.array_equal(events.time[events.kind == Kind.PULL], draw(1, rounds)):
            subject.fail("decisions are not made at its times")


class Disturbance:
    """Moves and loses parts at random: another delay that comes before the one under test."""

    whole = True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (asked for by the interface)
        """The schedule with its parts out of order and some of them lost."""
        shape = schedule.offsets.shape
        return Schedule(schedule.offsets + stream.integers(5, size=shape), stream.random(shape) < 0.2)  # noqa: PLR2004


def check_delay(
    kind: DelayKind | str,
    settings: Mapping[str, Any] | None = None,
    *,
    span: int = 12,
    arms: Sequence[str] = ("arm-1", "arm-2"),
    resources: Mapping[str, int] | None = None,
    folder: str | Path = ".",
    horizon: int = 100,
    distribution: Any = None,
    name: str | None = None,
) -> None:
    """Check that a delay keeps what delays promise, in any of their three forms.

    No part is early or arrives twice, and each one arrives or is lost; times are whole numbers where it says so; equal
    streams give equal delays, and no other randomness is used; no run depends on those before it, and what is sampled
    for an arm does not depend on other arms; it changes nothing that it is given; both engines give the same events
    where both can run it.

    Parameters
    ----------
    kind
        The delay as it is registered, or its name once it is installed or loaded.
    settings
        Keys of the `[[delays]]` table besides `kind`.
    span
        Rounds over which a pull pays.
    arms
        The names of the arms.
    resources
        Capacities of the `[resources]` that the delay may use; by default a "lab" of 2.
    folder
        Where relative file names in the settings start.
    horizon
        How many decisions the runs have.
    distribution
        A distribution of scipy.stats to compare the lag of a pull's first part with.
    name
        What a report of a fault calls the delay, if it is given as an object.

    Raises
    ------
    AssertionError
        If the delay breaks a promise; the text says which.

    Examples
    --------
    >>> from scipy import stats
    >>> from tpstream.testing import check_delay
    >>> check_delay("weibull", {"shape": 1.5, "scale": 3.0}, distribution=stats.weibull_min(1.5, scale=3.0))
    """
    with watched(DELAYS, kind, name) as subject:
        context = BuildContext(
            list(arms),
            span,
            Path(folder),
            horizon,
            resources or {"lab": 2},
            time_unit="day",
            start=START,
            maxima=[1.0 + arm for arm in range(len(arms))],  # those of `check_timing`
        )
        given = subject.settings(subject.definition.settings, settings)
        build = partial(subject.definition.build, given, context)
        delay = build()
        forms = [form for form in FORMS if hasattr(delay, form)]
        if len(forms) != 1:
            subject.fail(f"must build what has one of {', '.join(FORMS[:3])}, got {' and '.join(forms) or 'none'}")
        if forms[0] in {"apply", "reported"} and not isinstance(getattr(delay, "whole", None), bool):
            subject.fail("must say with `whole` (true or false) whether whole times stay whole")
        if forms == ["apply"]:
            _check_sampled(subject, build, len(arms), span, distribution)
        elif forms == ["reported"]:
            _check_calendar(subject, delay, horizon)
        for timing in _timings(subject, build, forms[0], context.resources):
            check_timing(subject, timing, span, len(arms), horizon)


def _timings(
    subject: Subject, build: Callable[[], Any], form: str, resources: Mapping[str, int]
) -> list[Callable[[], Timing]]:
    """Functions that build the delay alone, with a window, and after another delay."""

    def parts() -> dict[str, Any]:
        delay = build()
        if hasattr(delay, "factor"):  # it depends on the time of the pull
            return {"later": make_stages([(form, delay, subject.name)])}
        of_form: dict[str, dict[str, Any]] = {
            "apply": {"delays": (delay,), "names": (subject.name,)},
            "reported": {"calendar": Calendars((delay,), (subject.name,))},
            "run": {"process": delay, "process_name": subject.name, "resources": resources},
            "service_times": {
                "later": make_stages([("service_times", delay, subject.name)]),
                "resources": resources,
            },
        }
        return of_form[form]

    def after_another() -> Timing:
        own = parts()
        before = {"delays": (Disturbance(), *own.get("delays", ())), "names": ("before", *own.get("names", ()))}
        return Timing(**(own | before))

    return [lambda: Timing(**parts()), lambda: Timing(**parts(), window=3.0), after_another]


def _check_sampled(
    subject: Subject, build: Callable[[], DelayProcess], arms: int, span: int, distribution: Any
) -> None:
    rewards, delay = np.random.default_rng(0).random((BLOCK, span)), build()

    def draw(seed: int, arm: int = 0, before: tuple[DelayProcess, ...] = (), by: DelayProcess = delay) -> list[Any]:
        stream = open_stream(seed, 0, Purpose.DELAYS, arm)
        names = [*("before" for _ in before), subject.name]
        schedule = sample_schedule([*before, by], rewards.copy(), arm, stream, names)
        return [schedule.offsets, schedule.lost]

    def start() -> Callable[[int, int], list[Any]]:
        by = build()
        return lambda arm, block: draw(block, arm, by=by)

    check_builds(subject, "delays", lambda run: draw(run, by=build()))
    check_arms(subject, "delays", arms, start)
    for arm in range(arms):
        check_repeatable(subject, "apply", partial(draw, arm=arm))
        draw(0, arm, (Disturbance(),))
    if distribution is not None:
        lags = np.concatenate([draw(seed)[0][:, 0] for seed in range(40)])
        check_distribution(subject, "lags", lags, distribution)


def _check_calendar(subject: Subject, delay: CalendarDelay, horizon: int) -> None:
    whole = np.arange(1, 3 * horizon, dtype=np.float64)
    for times in (whole, whole + np.random.default_rng(0).random(len(whole))):
        reported = delay.reported(read_only(times))
        check_reported(reported, times, subject.name)
        one_by_one = [float(delay.reported(np.array([time]))[0]) for time in times.tolist()]
        if reported.tolist() != one_by_one:
            place = int(np.argmax(reported != one_by_one))
            subject.fail(
                f"what arrives at time {times[place]} is handed out at {reported[place]} among others and at "
                f"{one_by_one[place]} alone; each time must be looked at by itself"
            )
    reported = delay.reported(whole)
    if delay.whole and (reported != np.floor(reported)).any():
        place = int(np.argmax(reported != np.floor(reported)))
        subject.fail(f"declares whole times but hands out at {reported[place]} what arrives at {whole[place]}")
