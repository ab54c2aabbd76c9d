"""The check of arrival processes.

The check of delays, in all three forms.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.model.arrays import Floats
from tpstream.model.events import Kind
from tpstream.model.interfaces import ArrivalKind, BuildContext, CalendarDelay, DelayKind, DelayProcess, Schedule
from tpstream.model.random_streams import BLOCK, Purpose, open_stream
from tpstream.model.world import Timing
from tpstream.testing.probe import Subject, check_distribution, check_repeatable, subject_of
from tpstream.testing.runs import check_timing, default_policy, plain_world, run_simpy
from tpstream.timing import ARRIVALS, DELAYS
from tpstream.timing.pipeline import Calendars, arrival_times, check_reported, read_only, sample_schedule

SPAN, ARMS, DECISIONS = 6, 2, 60


def check_arrivals(
    kind: ArrivalKind | str,
    settings: Mapping[str, Any] | None = None,
    *,
    horizon: int = 10_000,
    folder: str | Path = ".",
    distribution: Any = None,
    name: str | None = None,
) -> None:
    """Raise unless an arrival process keeps what it promises, for these keys of `[arrivals]`.

    A time for each of `horizon` decisions, above 0 and never falling; round t at time t if it is declared regular; the
    same from the same stream, and no other randomness. `distribution`, of scipy.stats, is that of the gaps between
    decisions if they are independent, to be compared with.
    """
    subject = subject_of(ARRIVALS, kind, name)
    with subject.watched():
        given = subject.settings(subject.definition.settings, settings)
        place = BuildContext([f"arm-{arm + 1}" for arm in range(ARMS)], SPAN, Path(folder), horizon)
        process, again = (subject.definition.build(given, place) for _ in range(2))
        if not isinstance(getattr(process, "regular", None), bool):
            subject.fail("must say with `regular` (true or false) whether round t is at time t")

        def draw(seed: int, rounds: int = horizon, by: Any = process) -> Floats:
            return arrival_times(by, open_stream(seed, 0, Purpose.ARRIVALS), rounds, subject.name)

        check_repeatable(subject, "times", draw, lambda times: [times.copy()])
        times = draw(0)
        if not np.array_equal(draw(0, by=again), times):
            subject.fail("built twice it gives different times from the same stream")
        if process.regular and not np.array_equal(times, np.arange(1, horizon + 1)):
            subject.fail(
                f"declares to be regular, but round 1 is at time {times[0]} and round {horizon} at {times[-1]}"
            )
        draw(0, 1)
        if distribution is not None:
            check_distribution(subject, "gaps", np.diff(times, prepend=0.0), distribution)
        rounds = min(horizon, DECISIONS)
        timing = Timing(arrivals=process, arrivals_name=subject.name)
        check_timing(subject, timing, SPAN, ARMS, rounds)
        events = run_simpy(plain_world(SPAN, ARMS, rounds, timing), *default_policy()).events
        decided = events.time[events.kind == Kind.PULL]
        expected = arrival_times(process, open_stream(1, 0, Purpose.ARRIVALS), rounds, subject.name)
        if not np.array_equal(decided, expected):
            subject.fail("decisions are not made at its times")


FORMS = ("apply", "reported", "run")


class Disturbed:
    """A delay that moves and loses parts, as one that comes before in a scenario may."""

    whole = True

    def apply(self, schedule: Schedule, rewards: Floats, arm: int, stream: np.random.Generator) -> Schedule:  # noqa: ARG002 (the protocol's)
        """Out of order, and with parts lost."""
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
    """Raise unless a delay keeps what it promises, for these keys of a `[[delays]]` table.

    No part early, none twice, each one delivered or lost; whole times where that is declared; the same from the same
    stream, and no other randomness; inputs left alone; the same events in both engines where both can serve.
    `distribution`, of scipy.stats, is that of the lag of a pull's first part, to be compared with.
    """
    subject = subject_of(DELAYS, kind, name)
    with subject.watched():
        place = BuildContext(list(arms), span, Path(folder), horizon, resources or {"lab": 2})
        given = subject.settings(subject.definition.settings, settings)
        delay, again = (subject.definition.build(given, place) for _ in range(2))
        forms = [form for form in FORMS if hasattr(delay, form)]
        if len(forms) != 1:
            subject.fail(f"must build what has one of {', '.join(FORMS)}, got {' and '.join(forms) or 'none'}")
        if forms != ["run"] and not isinstance(getattr(delay, "whole", None), bool):
            subject.fail("must say with `whole` (true or false) whether whole times stay whole")
        if forms == ["apply"]:
            _check_sampled(subject, delay, again, len(arms), span, distribution)
        elif forms == ["reported"]:
            _check_calendar(subject, delay, horizon)
        for timing in _timings(subject, delay, forms[0], place.resources):
            check_timing(subject, timing, span, len(arms), horizon)


def _timings(subject: Subject, delay: Any, form: str, resources: Mapping[str, int]) -> list[Timing]:
    """Worlds with the delay: alone, with a window, and after another delay."""
    of_form: dict[str, dict[str, Any]] = {
        "apply": {"delays": (delay,), "names": (subject.name,)},
        "reported": {"calendar": Calendars((delay,), (subject.name,))},
        "run": {"process": delay, "process_name": subject.name, "resources": resources},
    }
    parts = of_form[form]
    before = {"delays": (Disturbed(), *parts.get("delays", ())), "names": ("before", *parts.get("names", ()))}
    return [Timing(**parts), Timing(**parts, window=3.0), Timing(**(parts | before))]


def _check_sampled(
    subject: Subject, delay: DelayProcess, again: DelayProcess, arms: int, span: int, distribution: Any
) -> None:
    rewards = np.random.default_rng(0).random((BLOCK, span))

    def draw(seed: int, arm: int = 0, before: tuple[DelayProcess, ...] = (), by: DelayProcess = delay) -> Schedule:
        stream = open_stream(seed, 0, Purpose.DELAYS, arm)
        names = [*("before" for _ in before), subject.name]
        return sample_schedule([*before, by], rewards.copy(), arm, stream, names)

    for arm in range(arms):
        check_repeatable(subject, "apply", partial(draw, arm=arm), _arrays)
        draw(0, arm, (Disturbed(),))
        for left, right in zip(_arrays(draw(0, arm)), _arrays(draw(0, arm, by=again)), strict=True):
            if not np.array_equal(left, right):
                subject.fail("built twice it delays differently from the same stream")
    if distribution is not None:
        lags = np.concatenate([draw(seed).offsets[:, 0] for seed in range(40)])
        check_distribution(subject, "lags", lags, distribution)


def _arrays(schedule: Schedule) -> list[Any]:
    return [schedule.offsets, schedule.lost]


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
