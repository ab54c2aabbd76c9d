"""A forked child that is kept for many cases, since forking a large process takes longer than most cases.

It does one case after another with the limits of a child of its own. One that ends, hangs or grows too large is
replaced by a new one. What it finds is looked at again in a fresh child: only that is how a command ends. A signal that
ended it counts in any case.
"""

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from children import (
    COMPILING,
    FILE_SIZE,
    KIBIBYTE,
    RAISED,
    SECONDS,
    WAITS,
    Ended,
    isolate,
    limit_memory,
    limited_time,
    printed_by,
    run_child,
)
from samples import write_files

Work = Callable[[Any], int]
"""A function of a module, with an argument that can be sent; it returns the exit code."""
CASES = 400
"""Cases of one child; then it is replaced."""


class KeptChild:
    """A child that does cases."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory()
        self.folder = Path(self._place.name) / "child"
        self.folder.mkdir()
        self.left = CASES
        self._connection, other = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._number = os.fork()
        if not self._number:
            self._connection.close()
            _serve(other, self.folder)
        other.close()

    def do(self, work: Work, argument: Any, folder: Path) -> Ended:
        """Do one case in a folder; the child has ended afterwards if a signal is told."""
        self.left -= 1
        code, used, by = RAISED, 0, 0
        try:
            self._connection.send((work, argument, str(folder)))
            code, used = self._connection.recv()
        except (EOFError, ConnectionError):
            _, status = os.waitpid(self._number, 0)
            self._number, self.left = 0, 0
            by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        place = printed_by(self.folder)
        printed = place.read_text(errors="replace")
        os.truncate(place, 0)
        return Ended(code, by, printed, used)

    def end(self) -> None:
        """End the child and who is left of its session."""
        if self._number:
            self._connection.close()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._number, signal.SIGKILL)
            os.waitpid(self._number, 0)
        self._place.cleanup()


def _serve(connection: Connection, folder: Path) -> NoReturn:
    """Do what is asked for, until nobody asks any more."""
    try:
        isolate(folder, FILE_SIZE)
        while True:
            try:
                work, argument, place = connection.recv()
            except EOFError:
                os._exit(0)
            connection.send(_one(work, argument, place))
            os.chdir(folder)
    except BaseException:  # noqa: BLE001 (there is nobody to raise it to)
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(RAISED)


def _one(work: Work, argument: Any, place: str) -> tuple[int, int]:
    """Do one case with limits of its own: its exit code, and the bytes that it used."""
    os.chdir(place)
    Path("/proc/self/clear_refs").write_text("5")  # the most memory that was used begins anew
    before = _kibibytes("VmRSS")
    limit_memory()
    signal.alarm(WAITS * SECONDS)
    code = RAISED
    try:
        with limited_time(SECONDS):
            code = work(argument)
    except BaseException:  # noqa: BLE001 (whatever it is, it is what the parent looks for)
        traceback.print_exc()
    signal.alarm(0)
    sys.stdout.flush()
    sys.stderr.flush()
    return code, max(0, _kibibytes("VmHWM") - before) * KIBIBYTE


def _kibibytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


_kept: list[KeptChild] = []


def try_files(files: Mapping[str, bytes], work: Work, argument: Any) -> Ended:
    """How work on some files ends, in the kept child; what seems bad is done again in a fresh child.

    What takes too long is then given time for what is compiled only once, and done again.
    """
    ended = _in_folder(files, lambda folder: _run_kept(work, argument, folder))
    if ended.fault is None or (ended.signal and not ended.too_long):
        return ended
    done = partial(work, argument)
    ended = _in_folder(files, partial(run_child, done))
    if ended.too_long:
        _in_folder(files, partial(run_child, done, patience=COMPILING))
        ended = _in_folder(files, partial(run_child, done))
    return ended


def _in_folder(files: Mapping[str, bytes], run: Callable[[Path], Ended]) -> Ended:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "case"
        folder.mkdir()
        write_files(folder, files)
        return run(folder)


def _run_kept(work: Work, argument: Any, folder: Path) -> Ended:
    """Do work in the kept child, which is begun if there is none; one with a fault is not kept."""
    if not _kept:
        _kept.append(KeptChild())
    ended = _kept[0].do(work, argument, folder)
    if ended.fault is not None or not _kept[0].left:
        _kept.pop().end()
    return ended


def end_kept() -> None:
    """End the kept child."""
    while _kept:
        _kept.pop().end()
