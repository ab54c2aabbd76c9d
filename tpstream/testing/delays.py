"""The check of delays, in all three forms."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.delays import DELAYS
from tpstream.delays.check import check_reported
from tpstream.delays.compose import Calendars, read_only, sample_schedule
from tpstream.model.arrays import Floats
from tpstream.model.protocols import CalendarDelay, DelayKind, DelayProcess, Place, Schedule
from tpstream.model.streams import BLOCK, Purpose, open_stream
from tpstream.model.timing import Timing
from tpstream.testing.probe import Subject, check_distribution, check_repeatable, subject_of
from tpstream.testing.runs import check_timing

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
        place = Place(list(arms), span, Path(folder), horizon, resources or {"lab": 2})
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
