"""The timetable of one pull: when each of its parts comes to which end, and when the pull is closed."""

import numpy as np

from tpstream.engines.outbox import DROPPED, IMPUTED, LATE, PARTIAL, Outbox
from tpstream.model.arrays import Bools, Floats
from tpstream.model.timing import Timing


def timetable(
    outbox: Outbox, pull: int, time: float, times: Floats, lost: Bools, timing: Timing
) -> list[tuple[float, int]]:
    """The moments of a pull whose parts come to their ends at these times, and the events there, in order.

    A pull is closed when nothing of it is missing any more, or when its window ends; a part due at that very moment
    is still credited. What did not come until then is credited with the default, if there is one.
    """
    closing = closing_time(times, time, timing.window)
    late = ~lost & (times > closing)
    kinds = np.where(lost, DROPPED, np.where(late, LATE, PARTIAL))
    moments = [
        (due, outbox.code(pull, part, kind))
        for part, (due, kind) in enumerate(zip(times.tolist(), kinds.tolist(), strict=True), start=1)
    ]
    if timing.default is not None:
        missing = np.flatnonzero(lost | late) + 1
        moments.extend((closing, outbox.code(pull, part, IMPUTED)) for part in missing.tolist())
    moments.append((closing, outbox.closed_code(pull)))
    moments.sort()
    return moments


def closing_time(times: Floats, time: float, window: float | None) -> float:
    """When a pull is closed whose parts come to their ends at these times."""
    last = float(times.max())
    return last if window is None else min(last, time + window)
