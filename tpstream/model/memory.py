"""Memory: how much this process may still take."""

import sys
from math import inf
from pathlib import Path


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


def size_text(bytes: float) -> str:
    """A number of bytes as people write it.

    Examples
    --------
    >>> size_text(2_345_678_901), size_text(12_300)
    ('2.3 GB', '0.0 GB')
    """
    return f"{bytes / 1e9:,.1f} GB"
