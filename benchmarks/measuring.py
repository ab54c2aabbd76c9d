"""What measurements share: short work that other programs do not disturb, and the shortest time of several turns."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Give this thread, and those that it starts meanwhile, priority over everything else; for a second or so.

    That needs Linux and the rights of the administrator. Without them nothing changes: measure on free cores. Other
    programs may work afterwards for as long as they had to wait.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, PermissionError):
        yield
        return
    began = time.perf_counter()
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        time.sleep(time.perf_counter() - began)


def best(turns: int, *jobs: Callable[[], object]) -> list[float]:
    """The shortest processor time of every job in seconds; the jobs take turns."""
    shortest = [float("inf")] * len(jobs)
    for _ in range(turns):
        for number, job in enumerate(jobs):
            with undisturbed():
                began = time.thread_time()
                job()
                shortest[number] = min(shortest[number], time.thread_time() - began)
    return shortest
