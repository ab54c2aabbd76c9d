"""The pool of processes that a study starts on its machine, and how they end with it."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any

SIGNAL_AT_PARENTS_DEATH = 1
"""The option of Linux's `prctl` for a signal that a process gets when its parent ends."""


INTERRUPTIONS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class OwnPool(futures.ProcessPoolExecutor):
    """A pool that ends with its work: what is cancelled in one whose processes are ended makes Python complain."""

    def submit(self, *args: Any, **keywords: Any) -> "futures.Future[Any]":
        """Do some work; processes that start for it are not interrupted before they know what they are."""
        with interruptions_held():
            return super().submit(*args, **keywords)


@contextmanager
def interruptions_held() -> Iterator[None]:
    """Hold interruptions until the end of this, if they are answered by Python, and in its main thread."""
    came: list[int] = []
    here = threading.current_thread() is threading.main_thread()
    answered = [one for one in INTERRUPTIONS if here and callable(signal.getsignal(one))]
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in answered}
    try:
        yield
    finally:
        for one, answer in before.items():
            signal.signal(one, answer)
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def process_pool(jobs: int) -> Iterator[futures.Executor]:
    """A pool of so many processes, which start when there is work for them and are ended by any error."""
    with OwnPool(jobs, get_context("spawn"), initializer=prepare_worker) as pool:
        try:
            yield pool
        except BaseException:
            for process in list(pool._processes.values()):  # noqa: SLF001 (public from Python 3.14 on)
                process.terminate()
            raise


def prepare_worker() -> None:
    """Let this process, one of a pool, end with the process that started it, and without a word if interrupted.

    The first process tells of interruptions. If it is killed, nobody tells its workers; Linux sends them a signal, and
    elsewhere a thread waits for its end.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SIGNAL_AT_PARENTS_DEATH, signal.SIGKILL, 0, 0, 0)
    if sys.platform != "linux" or os.getppid() != parent.pid:  # it may have ended before
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    """Wait for the end of the first process, and end this one."""
    parent.join()
    os._exit(1)
