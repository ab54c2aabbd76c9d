"""Keeps other programs from disturbing a short piece of work, so that its time by the clock means something."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 0.3
"""Seconds in which others may work afterwards."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Give this thread, and those that it starts meanwhile, priority over everything else; for less than a second.

    That needs the rights of the administrator and Linux. Without them nothing changes: measure on free cores.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, PermissionError):
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        time.sleep(PAUSE)
