"""Memory: how much this process may still take, and how much what comes from a file may take of it.

A few bytes of a file can ask for any amount: a header that says a million parts, a footer that says a billion rows. So
whoever allocates what a file asks for compares it first.
"""

import sys
from math import inf
from pathlib import Path

from tpstream.model.errors import LogError

MOST_ROOM = 10**9
"""Bytes of the arrays that hold what is known of every pull of a log; they are copied when they grow."""


def available_memory() -> float:
    """Bytes that this process may still take: what the machine has free, the container's and the process's limits."""
    lines = _lines(Path("/proc/meminfo"))
    found = [inf, *(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))]
    group = Path("/sys/fs/cgroup")
    limit, used = (_lines(group / name) for name in ("memory.max", "memory.current"))
    if limit and used and limit[0].isdecimal():
        found.append(max(0.0, float(limit[0]) - float(used[0])))
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 (Windows has none)

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [] if most == resource.RLIM_INFINITY else [float(most)]
    return min(found)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def check_room(source: object, rows: int, row_bytes: float, what: str) -> None:
    """Raise LogError if so many rows of so many bytes are more than a log may take.

    Examples
    --------
    >>> check_room("wide.jsonl", 20_000, 250_000, "pulls of 1,000,000 parts")
    Traceback (most recent call last):
    tpstream.model.errors.LogError: wide.jsonl: 20,000 pulls of 1,000,000 parts take 5.0 GB, and 1.0 GB are the most ...
    """
    if rows * row_bytes > MOST_ROOM:
        raise LogError(
            f"{source}: {rows:,} {what} take {size_text(rows * row_bytes)}, and {size_text(MOST_ROOM)} are the most "
            f"that a log may take; give one of fewer pulls, or of a smaller span"
        )


def most_rows(row_bytes: int) -> int:
    """How many rows of so many bytes a log may take."""
    return MOST_ROOM // max(row_bytes, 1)


def size_text(bytes: float) -> str:
    """A number of bytes as people write it.

    Examples
    --------
    >>> size_text(2_345_678_901), size_text(12_300)
    ('2.3 GB', '0.0 GB')
    """
    return f"{bytes / 1e9:,.1f} GB"
