"""Units of time, as a scenario names them: a word in the singular, such as "day", and how texts use it."""

import re

COMMON = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
"""Units that most scenarios need, for error messages; any other word will do."""
LONGEST = 20
"""Letters that a unit may have."""
DAY = 86_400_000_000
"""Microseconds of a day."""
MICROSECONDS = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": DAY, "week": 7 * DAY}
"""The length of the units of time that have one length."""


def check_time_unit(word: str) -> str:
    """The word, if it can be a unit of time in the singular; ValueError with the remedy if not.

    Examples
    --------
    >>> check_time_unit("day")
    'day'
    >>> check_time_unit("days")
    Traceback (most recent call last):
    ValueError: must be a word in the singular, such as 'day', got 'days'
    """
    single = word[:-1] if word.endswith("s") and not word.endswith("ss") else word
    if not re.fullmatch(r"[^\W\d_]+(-[^\W\d_]+)*", word) or len(word) > LONGEST:
        raise ValueError(f"must be a single word such as {', '.join(COMMON)}, got {word!r}")
    if single != word:
        raise ValueError(f"must be a word in the singular, such as {single!r}, got {word!r}")
    return word


def plural(unit: str) -> str:
    """The plural of a unit.

    Examples
    --------
    >>> plural("day"), plural("century")
    ('days', 'centuries')
    """
    return f"{unit[:-1]}ies" if re.search("[^aeiou]y$", unit) else f"{unit}s"


def count_of(number: float, unit: str | None) -> str:
    """A number of units, in words; a number alone, as of time, where no unit is named.

    Examples
    --------
    >>> count_of(1, "day"), count_of(24.1, "month"), count_of(1234, "round"), count_of(3, None)
    ('1 day', '24.1 months', '1,234 rounds', '3')
    """
    text = f"{number:,.0f}" if number >= 1000 or float(number).is_integer() else f"{number:.3g}"  # noqa: PLR2004
    return text if unit is None else f"{text} {unit if text == '1' else plural(unit)}"


def round_title(unit: str | None, *, regular: bool) -> str:
    """The title of an axis of rounds, with the time that one takes where all take the same.

    Examples
    --------
    >>> round_title("day", regular=True), round_title("day", regular=False)
    ('round (one per day)', 'round')
    """
    return f"round (one per {unit})" if unit is not None and regular else "round"
