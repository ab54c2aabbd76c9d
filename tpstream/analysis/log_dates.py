"""Times of a log as dates, and dates as times of a log."""

from datetime import datetime, timedelta

from tpstream.model.errors import DataError
from tpstream.model.units import MICROSECONDS


def as_date(origin: str | None, unit: str | None, time: float) -> str | float:
    """A time of a log as a date, with the time of day if it is not midnight; the number itself where times are."""
    if origin is None or unit not in MICROSECONDS:
        return time
    moment = datetime.fromisoformat(origin) + timedelta(microseconds=round(time * MICROSECONDS[unit]))
    is_day = (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    # What was known at the end of a day was known on that day.
    return (moment - timedelta(microseconds=1)).date().isoformat() if is_day else moment.isoformat()


def as_time(origin: str | None, unit: str | None, date: str | float) -> float:
    """A date, to its end, or a number as a time of a log."""
    try:
        if origin is None or unit not in MICROSECONDS:
            return float(date)
        moment = datetime.fromisoformat(str(date))
    except ValueError as error:
        form = "a number" if origin is None else "a date such as 2024-12-31"
        raise DataError(f"plan-until: {date!r} cannot be read; give {form}") from error
    start = datetime.fromisoformat(origin)
    ended = moment.replace(tzinfo=start.tzinfo) + timedelta(days=1)
    return (ended - start) / timedelta(microseconds=MICROSECONDS[unit])
