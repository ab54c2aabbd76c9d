"""A case in a forked child: it has limits, a session of its own, and its end is looked at.

The parent has loaded and compiled everything, so that a child starts in milliseconds and many fit into a second.
"""

import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from math import ceil
from pathlib import Path

import typer
from numba.core import event

from tpstream.cli import start

SECONDS = 20
"""Seconds of work after which a child is ended: it hangs."""
COMPILING = 120
"""The same for a case that may compile a loop; compiled code is kept, so that this is tried once."""
WAITS = 30
"""How many times as long it may wait, for what never comes or for its turn on a busy machine."""
MEMORY = 2_000_000_000
"""Bytes that a child may use beyond what it got from its parent."""
FILE_SIZE = 200_000_000
"""Bytes of any file that a child writes, unless it is to run out of space."""
RAISED = 70
"""The exit code of a child that ended with an exception, as that of tpstream never is."""
KIBIBYTE = 1024


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code or the signal, what it printed on both ways, and the bytes that it used."""

    code: int
    signal: int
    printed: str
    used: int
    seconds: float = 0.0
    """Of the processor; 0 for a case in a child that is kept."""

    @property
    def succeeded(self) -> bool:
        """Whether it came to its end and did what it was asked for."""
        return not (self.code or self.signal)

    @property
    def too_long(self) -> bool:
        """Whether it was ended because it did not come to its end."""
        return self.signal in {signal.SIGALRM, signal.SIGKILL, signal.SIGXCPU}

    @property
    def fault(self) -> str | None:
        """What is bad about it in short, the same words for the same fault; None if it ended as a command should."""
        if self.too_long:
            return f"still running after {SECONDS} s"
        if self.signal:
            return f"ended by {signal.Signals(self.signal).name}"
        if self.code == RAISED or "Traceback (most recent call last)" in self.printed:
            return f"traceback: {raised(self.printed)}"
        if self.used > MEMORY:
            return f"more than {MEMORY // 10**9} GB"
        if self.code not in {0, 1, 2}:
            return f"exit code {self.code}"
        return "an exit code, but no word" if self.code and not self.printed.strip() else None


def raised(printed: str) -> str:
    """The exception of a traceback, and the innermost function of tpstream that it came through."""
    lines = [
        line for line in printed.splitlines() if re.match(r"[\w.]*(Error|Exception|Warning|Interrupt|Exit)\b", line)
    ]
    places = re.findall(r'File ".*?/tpstream/(\w[\w/]*)\.py", line \d+, in (\S+)', printed)
    name = lines[-1].partition(":")[0] if lines else "unknown"
    return f"{name} in {'.'.join(places[-1])}" if places else name


def run_child(work: Callable[[], int], folder: Path, *, file_size: int = FILE_SIZE, patience: int = SECONDS) -> Ended:
    """Do work in a forked child, in a folder, and wait for its end."""
    return end_of(start_child(work, folder, file_size=file_size, patience=patience), folder)


def start_child(work: Callable[[], int], folder: Path, *, file_size: int = FILE_SIZE, patience: int = SECONDS) -> int:
    """The number of a forked child that does the work, in a folder, and leaves with the exit code that it returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = RAISED
    try:
        isolate(folder, file_size)
        limit_memory()
        signal.alarm(WAITS * patience)
        with limited_time(patience):
            code = work()
    except BaseException:  # noqa: BLE001 (whatever it is, it is what the parent looks for)
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def end_of(child: int, folder: Path) -> Ended:
    """How a child ended; whoever is left of its session is ended, too."""
    _, status, usage = os.wait4(child, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = max(0, usage.ru_maxrss - here) * KIBIBYTE
    place = printed_by(folder)
    printed = place.read_text(errors="replace") if place.exists() else ""
    place.unlink(missing_ok=True)
    return Ended(
        os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        printed,
        used,
        usage.ru_utime + usage.ru_stime,
    )


def wait_until(child: int, seconds: float) -> None:
    """Wait until a child has used so much time of the processor, or has ended.

    By the clock, a child that waits for its turn on a busy machine would seem to be further than it is.
    """
    clock = ~child << 3 | 2  # as clock_getcpuclockid gives it
    while time.clock_gettime(clock) < seconds and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.0005)


def printed_by(folder: Path) -> Path:
    """The file with what a child in this folder prints: beside it, since there may be no room in it."""
    return folder.with_name(f"{folder.name}.printed")


def isolate(folder: Path, file_size: int) -> None:
    """Give this process, a child, its folder, a session, a file for what it prints, and the size of its files."""
    os.setsid()
    os.chdir(folder)
    for one in start.SIGNALS:
        signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    printed = os.open(printed_by(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, place in enumerate((nothing, printed, printed)):
        os.dup2(place, stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (streams of the process)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False, errors="replace")  # type: ignore[misc] # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", closefd=False, errors="replace")  # type: ignore[misc] # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_memory() -> None:
    """Limit the memory of this process to what it has and half as much again as a case may use.

    What is only asked for, and never touched, is not used.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY * 3 // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Limit the time of the processor, without what Numba takes to compile: that is done once, and is no fault."""
    limit = _TimeLimit(seconds)
    with event.install_listener("numba:compiler_lock", limit):
        yield
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class _TimeLimit(event.Listener):  # type: ignore[misc] # it has no types
    """The limit, which is lifted while something is compiled."""

    def __init__(self, seconds: float) -> None:
        self._left, self._depth = seconds, 0
        self._set()

    def on_start(self, _: object) -> None:
        """Lift the limit."""
        if not self._depth:
            self._left = self._end - _seconds_used()
            resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self._depth += 1

    def on_end(self, _: object) -> None:
        """Set it anew, with what was left."""
        self._depth -= 1
        if not self._depth:
            self._set()

    def _set(self) -> None:
        self._end = _seconds_used() + max(self._left, 1)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(self._end), resource.RLIM_INFINITY))


def _seconds_used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def do_command(words: Sequence[str]) -> int:
    """The console script with these words in this process: its exit code."""
    sys.argv = ["tpstream", *words]
    try:
        start.main()
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def command(words: Sequence[str]) -> Callable[[], int]:
    """The console script with these words, as work of a child."""
    return partial(do_command, words)


def run_command(words: Sequence[str], folder: Path, *, file_size: int = FILE_SIZE) -> Ended:
    """The console script with these words in a child."""
    return run_child(command(words), folder, file_size=file_size)


typer.main.get_command = cache(typer.main.get_command)
"""The commands of the application are put together once, not for each case."""
