"""What a process needs to answer many requests quickly: its threads, garbage collector, files and event loop."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TURN = 0.0005
"""Seconds after which a thread lets another one go on."""
OLDEST = 2
"""The generation of a full collection."""


@contextmanager
def short_collections() -> Iterator[None]:
    """Let the garbage collector look at each object in one full collection only, while this is entered.

    It would look at everything that a decider remembers, again and again, and nothing is answered meanwhile: 0.1 s for
    some 100,000 open decisions. What survived is freed as usual when nobody refers to it any more.
    """

    def freeze(phase: str, collected: dict[str, int]) -> None:
        if phase == "stop" and collected["generation"] == OLDEST:
            gc.freeze()

    gc.collect()
    gc.freeze()
    gc.callbacks.append(freeze)
    try:
        yield
    finally:
        gc.callbacks.remove(freeze)
        gc.unfreeze()


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns more often than Python does by itself, while this is entered.

    A decider at work would keep the event loop from answering for some milliseconds each time.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def allow_files(number: int) -> None:
    """Let this process have as many open files, if it may."""
    try:
        import resource  # noqa: PLC0415 (only where there is such a limit)
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (number if hard == resource.RLIM_INFINITY else min(number, hard), hard)
        )


def new_loop() -> Any:
    """A new event loop: uvloop's, where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 (there is none for Windows)
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
