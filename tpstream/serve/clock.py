"""The times of a decider: its unit, its window, and what time it is."""

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, isfinite

from tpstream.log.imports.times import read_duration
from tpstream.log.schema import Header
from tpstream.model.errors import DataError, DeciderError
from tpstream.model.units import MICROSECONDS

SECOND = 1_000_000
"""Microseconds of a second."""
PERIOD = "period"
"""What a unit is called whose length has no name."""
DIGITS = 9
"""Decimals to which windows are compared with whole units."""


@dataclass(frozen=True)
class Lengths:
    """How long things are: in units of time, but the unit itself in seconds."""

    unit: str | None
    """What a unit is called; None: nobody said."""
    unit_seconds: float | None
    span: int
    window: float | None


def find_lengths(span: int, window: float | str | None, unit: float | str | None, *, silence: str) -> Lengths:
    """The lengths that are meant.

    `window` and `unit` are numbers or durations as "60d"; a unit may be a word, such as "day". Where the window is a
    duration and no unit is named, the window is `span` units long.
    """
    if span < 1:
        raise DeciderError(f"span: must be at least 1, got {span}; it is how many parts a decision pays")
    name, seconds = _unit(unit)
    if isinstance(window, str):
        length = _seconds("window", window)
        if seconds is None:
            seconds = length / span
            name = _word(seconds)
        window = length / seconds
    if window is None and silence == "zero":
        window = float(span)
    if window is not None and not (isfinite(window) and window > 0):
        raise DeciderError(f"window: {window} leaves no time to pay; give a duration above 0, such as 60d")
    if silence == "zero" and window is not None and ceil(round(window, DIGITS)) != span:
        raise DeciderError(
            f"window: {window:g} units are {ceil(round(window, DIGITS))} periods of one unit, and the span is {span}; "
            f"make them equal, or name another unit"
        )
    return Lengths(name, seconds, span, None if window is None else float(window))


def _unit(unit: float | str | None) -> tuple[str | None, float | None]:
    """The name of a unit and its seconds."""
    if unit is None:
        return None, None
    if isinstance(unit, str):
        if unit in MICROSECONDS:
            return unit, MICROSECONDS[unit] / SECOND
        seconds = _seconds("unit", unit)
        return _word(seconds), seconds
    if not (isfinite(unit) and unit > 0):
        raise DeciderError(f"unit: {unit} is no length; give seconds, a word such as day, or a duration such as 60s")
    return _word(unit), float(unit)


def _word(seconds: float) -> str:
    """What a unit of that length is called."""
    return next((word for word, size in MICROSECONDS.items() if size == seconds * SECOND), PERIOD)


def _seconds(name: str, text: str) -> float:
    """The seconds of a duration such as "60d"."""
    try:
        return read_duration(name, text, "day", numbers=False) / SECOND
    except DataError as error:
        raise DeciderError(str(error)) from None


def origin_now() -> str:
    """The present time in the ISO format, for a log that begins now."""
    return re.sub(r"\+00:00$", "Z", datetime.now(UTC).isoformat(timespec="microseconds"))


class ServerClock:
    """Tells the time in units since the log's origin; it never goes back while it runs.

    Parameters
    ----------
    header
        The header of the log: its origin, and how long a unit is.
    """

    def __init__(self, header: Header) -> None:
        assert header.decider is not None  # noqa: S101 (callers have such a log)
        self._unit = header.decider.unit_seconds or 1.0
        self._origin = datetime.fromisoformat(header.origin or "1970-01-01T00:00:00Z").timestamp()
        self._last = 0.0

    def now(self) -> float:
        """The time now."""
        self._last = max(self._last, (time.time() - self._origin) / self._unit)
        return self._last
