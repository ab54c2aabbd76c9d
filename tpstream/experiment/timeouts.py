"""Runs with a time limit: they are done by processes of their own, which are ended when a run takes too long.

The run is recorded as failed. A pool of Python's is lost with one of its processes, so that a new one goes on with what
was under way.
"""

import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tpstream.experiment.plan import Chunk
from tpstream.experiment.store import RunResult
from tpstream.run.turns import Turn, read_turns

TURNS = 5
"""So often the time of a run is looked at while it lasts, at least."""
LONGEST_WAIT = 0.5
"""Seconds between two looks at most."""


class Overdue(Exception):  # noqa: N818 (caught by `run_timed`, never shown)
    """A process was ended because a run took too long; the argument is what had been given to the pool."""

    def __init__(self, waiting: list[Chunk]) -> None:
        super().__init__("a run took too long")
        self.waiting = waiting


class Watch:
    """Looks at the time of the runs in a pool of processes, and ends those whose run takes too long."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self.folder, self.timeout = folder, timeout
        self.ended: dict[int, Turn] = {}
        """The turns that were ended, by process."""

    @property
    def pause(self) -> float:
        """Seconds between two looks."""
        return min(LONGEST_WAIT, self.timeout / TURNS)

    def look(self, executor: Any) -> None:
        """End the processes of the pool whose run has taken longer than allowed."""
        now = time.monotonic()
        for number, turn in read_turns(self.folder).items():
            process = executor._processes.get(number)  # noqa: SLF001 (public from Python 3.14 on)
            if process is not None and number not in self.ended and turn.seconds(now) > self.timeout:
                self.ended[number] = turn
                process.kill()

    def settle(self, waiting: list[Chunk]) -> tuple[list[RunResult], list[Chunk]]:
        """The failures of the runs that were ended, and what is left to be done of the chunks that were under way."""
        failed = {(turn.policy, turn.run): number for number, turn in self.ended.items()}
        left = [part for chunk in waiting for part in _without(chunk, failed.keys() & _pairs(chunk))]
        for number in self.ended:
            for chunk in waiting:
                _remove_unfinished(chunk, number)
            (self.folder / str(number)).unlink(missing_ok=True)
        self.ended.clear()
        told = f"took longer than {self.timeout:g} seconds and was ended (--timeout)"
        return [RunResult(key, run, b"", self.timeout, told) for key, run in failed], left


def _pairs(chunk: Chunk) -> set[tuple[str, int]]:
    return {(key, run) for run in chunk.runs for key in chunk.keys}


def _without(chunk: Chunk, failed: set[tuple[str, int]]) -> Iterator[Chunk]:
    """The chunk in parts, without these policies in these runs; logs that were begun are written anew."""
    log = chunk.options.log
    options = chunk.options if log is None else replace(chunk.options, log=replace(log, force=True))
    hit = {run for _, run in failed}
    if runs := tuple(run for run in chunk.runs if run not in hit):
        yield replace(chunk, runs=runs, options=options)
    for run in sorted(hit):
        policies = tuple(one for one in chunk.policies if (one.result_key, run) not in failed)
        if policies:
            yield replace(chunk, runs=(run,), policies=policies, options=options)


def _remove_unfinished(chunk: Chunk, process: int) -> None:
    """Remove logs that an ended process had begun and not given their names."""
    if chunk.options.log is not None and chunk.options.log.place.is_dir():
        for file in chunk.options.log.place.glob(f"*.{process}.partial"):
            with suppress(OSError):
                file.unlink()


def run_timed(
    chunker: Any,
    timeout: float,
    run_on: Callable[[futures.Executor, Watch], Iterator[list[RunResult]]],
    open_pool: Callable[[], Any],
) -> Iterator[list[RunResult]]:
    """Do all chunks by pools of processes; `run_on` does them by one pool and raises `Overdue` if a run was ended."""
    with TemporaryDirectory(prefix="tpstream-turns-") as folder:
        watch = Watch(Path(folder), timeout)
        while True:
            try:
                with open_pool() as pool:
                    yield from run_on(pool, watch)
            except Overdue as overdue:
                failures, left = watch.settle(overdue.waiting)
                chunker.put_back(left)
                yield failures
            else:
                return
