"""The crew: who does the pieces. This process, threads, processes, or any executor that a user brings."""

import math
import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from queue import Empty, SimpleQueue

from tpstream.model.errors import StudyError, TpstreamError
from tpstream.study.cutter import Cutter
from tpstream.study.piece import Finished, Piece, Progress, describe, do_piece
from tpstream.study.records import Outcome

AHEAD = 3
"""Pieces that are sent out for each worker, so that none waits for the next one."""
WORTH = 5.0
"""Seconds of work below which processes, which take seconds to start, are not worth starting."""
TRIALS = 2
"""Runs that are done here first to see how long they take; the very first one also loads compiled code."""
SECONDS_PER_EVENT = {True: 5e-9, False: 2.5e-6}
"""A rough guess, compiled or not; a run of more than a second is not done here first."""
UNKNOWN_WORKERS = 8
"""Taken for the workers of an executor that does not tell how many it has."""


def default_jobs() -> int:
    """One job for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_workers(executor: Executor) -> int:
    """How many pieces an executor does at a time; Python's own pools and ours for Dask tell."""
    return getattr(executor, "_max_workers", None) or UNKNOWN_WORKERS


@dataclass(frozen=True, eq=False)
class Crew:
    """An executor and what we know of it."""

    executor: Executor
    shares_memory: bool = False
    """Its workers are threads of this process, which can report progress and be asked to stop."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def workers(self) -> int:
        """How many pieces are done at a time, now: clusters grow."""
        return count_workers(self.executor)

    def submit(self, piece: Piece, progress: Progress | None) -> "Future[Finished]":
        """Send a piece out."""
        if self.shares_memory:
            return self.executor.submit(do_piece, piece, self._stoppable(progress))
        return self.executor.submit(do_piece, piece)

    def _stoppable(self, progress: Progress | None) -> Progress:
        """The progress of a thread, which is also where it notices that nobody waits for it any more."""

        def tell(rounds: int) -> None:
            if self.stopped.is_set():
                raise Stopped
            if progress is not None:
                progress(rounds)

        return tell


class Stopped(BaseException):
    """A thread gives up its piece."""


def work(
    cutter: Cutter, progress: Progress | None, *, executor: Executor | None, jobs: int, compiled: bool, spawn: bool
) -> Generator[list[Outcome], None, None]:
    """The outcomes of one piece after the other, as they come, by the executor or on so many cores.

    Long work goes to processes, if they can be spawned. Short work is not worth their start and goes to threads,
    which compiled loops leave some room for, and else is done here.
    """
    if executor is not None:
        yield from _work_together(cutter, Crew(executor), progress)
        return
    if jobs > 1 and cutter.events * SECONDS_PER_EVENT[compiled] < 1:
        yield from _work_alone(cutter, progress, most=TRIALS)
    if jobs <= 1 or not cutter:
        yield from _work_alone(cutter, progress)
    elif spawn and cutter.expected >= WORTH:
        yield from _work_in_processes(cutter, jobs, progress)
    elif compiled:
        with ThreadPoolExecutor(jobs) as threads:
            yield from _work_together(cutter, Crew(threads, shares_memory=True), progress)
    else:
        yield from _work_alone(cutter, progress)


def _work_in_processes(cutter: Cutter, jobs: int, progress: Progress | None) -> Generator[list[Outcome], None, None]:
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_die_silently) as processes:
        try:
            yield from _work_together(cutter, Crew(processes), progress)
        except BaseException:
            for process in list(processes._processes.values()):  # noqa: SLF001 (public from Python 3.14 on)
                process.terminate()
            raise


def _die_silently() -> None:
    """A process of the pool ends at an interruption without a traceback: the first process has the last word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work_alone(
    cutter: Cutter, progress: Progress | None, most: float = math.inf
) -> Generator[list[Outcome], None, None]:
    """Do the pieces in this process, at most so many."""
    done = 0
    while cutter and done < most:
        piece = cutter.cut()
        finished = do_piece(piece, progress)
        cutter.learn(piece, finished.seconds)
        done += 1
        yield finished.outcomes


def _work_together(cutter: Cutter, crew: Crew, progress: Progress | None) -> Generator[list[Outcome], None, None]:
    """Send pieces out, a few ahead, and take the answers as they come."""
    waiting: dict[Future[Finished], Piece] = {}
    answers: SimpleQueue[Future[Finished]] = SimpleQueue()
    try:
        while cutter or waiting:
            # Until the pace is known pieces are short, and not many of them should be on their way.
            while cutter and len(waiting) < (AHEAD if cutter.learned else 1) * crew.workers:
                piece = cutter.cut()
                future = crew.submit(piece, progress)
                waiting[future] = piece
                future.add_done_callback(answers.put)
            future = _wait_for(answers)
            piece = waiting.pop(future)
            finished = _collect(future, piece)
            cutter.learn(piece, finished.seconds)
            if progress is not None and not crew.shares_memory:
                progress(piece.length)
            yield finished.outcomes
    finally:
        crew.stopped.set()
        for future in waiting:
            future.cancel()


def _wait_for(answers: "SimpleQueue[Future[Finished]]") -> "Future[Finished]":
    """The next answer; waits in short turns, since not every system wakes a waiting thread for an interruption."""
    while True:
        with suppress(Empty):
            return answers.get(timeout=0.5)


def _collect(future: "Future[Finished]", piece: Piece) -> Finished:
    """What a piece found; one that was lost for good is a failure of its runs, a lost crew is the end of the study."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StudyError(f"the workers were lost ({reason}); start them again and repeat the command") from None
    except TpstreamError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever the executor of a user may raise)
        lost = [Outcome(one.entry, run, b"", 0.0, describe(error)) for run in piece.runs for one in piece.entrants]
        return Finished(lost, 0.0)
