"""The check of arrival processes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tpstream.delays import ARRIVALS
from tpstream.delays.compose import arrival_times
from tpstream.model.arrays import Floats
from tpstream.model.events import Kind
from tpstream.model.protocols import ArrivalKind, Place
from tpstream.model.streams import Purpose, open_stream
from tpstream.model.timing import Timing
from tpstream.testing.probe import check_distribution, check_repeatable, subject_of
from tpstream.testing.runs import check_timing, default_policy, plain_world, run_simpy

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
        place = Place([f"arm-{arm + 1}" for arm in range(ARMS)], SPAN, Path(folder), horizon)
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
