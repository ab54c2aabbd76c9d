"""The crew: who does the pieces. This process, threads, processes, or any executor that a user brings.

Dask: the executor for more machines than one.

Spawning: whether processes of their own can take part in the work of this program."""

import math
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from tpstream.experiment.chunks import Chunker
from tpstream.experiment.store import RunResult
from tpstream.experiment.worker import Chunk, Finished, Progress, StudyPolicy, error_line, run_chunk
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.policies.base import SharedPolicy

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
class WorkerPool:
    """An executor and what we know of it."""

    executor: Executor
    shares_memory: bool = False
    """Its workers are threads of this process, which can report progress and be asked to stop."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def workers(self) -> int:
        """How many pieces are done at a time, now: clusters grow."""
        return count_workers(self.executor)

    def submit(self, piece: Chunk, progress: Progress | None) -> "Future[Finished]":
        """Send a piece out."""
        if self.shares_memory:
            return self.executor.submit(run_chunk, piece, self._stoppable(progress))
        return self.executor.submit(run_chunk, piece)

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
    chunker: Chunker, progress: Progress | None, *, executor: Executor | None, jobs: int, compiled: bool, spawn: bool
) -> Generator[list[RunResult], None, None]:
    """The outcomes of one piece after the other, as they come, by the executor or on so many cores.

    Long work goes to processes, if they can be spawned. Short work is not worth their start and goes to threads,
    which compiled loops leave some room for, and else is done here.
    """
    if executor is not None:
        yield from _work_together(chunker, WorkerPool(executor), progress)
        return
    if jobs > 1 and chunker.events * SECONDS_PER_EVENT[compiled] < 1:
        yield from _work_alone(chunker, progress, most=TRIALS)
    if jobs <= 1 or not chunker:
        yield from _work_alone(chunker, progress)
    elif spawn and chunker.expected >= WORTH:
        yield from _work_in_processes(chunker, jobs, progress)
    elif compiled:
        with ThreadPoolExecutor(jobs) as threads:
            yield from _work_together(chunker, WorkerPool(threads, shares_memory=True), progress)
    else:
        yield from _work_alone(chunker, progress)


def _work_in_processes(
    chunker: Chunker, jobs: int, progress: Progress | None
) -> Generator[list[RunResult], None, None]:
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_die_silently) as processes:
        try:
            yield from _work_together(chunker, WorkerPool(processes), progress)
        except BaseException:
            for process in list(processes._processes.values()):  # noqa: SLF001 (public from Python 3.14 on)
                process.terminate()
            raise


def _die_silently() -> None:
    """A process of the pool ends at an interruption without a traceback: the first process has the last word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work_alone(
    chunker: Chunker, progress: Progress | None, most: float = math.inf
) -> Generator[list[RunResult], None, None]:
    """Do the pieces in this process, at most so many."""
    done = 0
    while chunker and done < most:
        piece = chunker.cut()
        finished = run_chunk(piece, progress)
        chunker.learn(piece, finished.seconds)
        done += 1
        yield finished.outcomes


def _work_together(
    chunker: Chunker, crew: WorkerPool, progress: Progress | None
) -> Generator[list[RunResult], None, None]:
    """Send pieces out, a few ahead, and take the answers as they come."""
    waiting: dict[Future[Finished], Chunk] = {}
    answers: SimpleQueue[Future[Finished]] = SimpleQueue()
    try:
        while chunker or waiting:
            # Until the pace is known pieces are short, and not many of them should be on their way.
            while chunker and len(waiting) < (AHEAD if chunker.learned else 1) * crew.workers:
                piece = chunker.cut()
                future = crew.submit(piece, progress)
                waiting[future] = piece
                future.add_done_callback(answers.put)
            future = _wait_for(answers)
            piece = waiting.pop(future)
            finished = _collect(future, piece)
            chunker.learn(piece, finished.seconds)
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


def _collect(future: "Future[Finished]", piece: Chunk) -> Finished:
    """What a piece found; one that was lost for good is a failure of its runs, a lost crew is the end of the study."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StudyError(f"the workers were lost ({reason}); start them again and repeat the command") from None
    except TpstreamError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever the executor of a user may raise)
        lost = [RunResult(one.entry, run, b"", 0.0, error_line(error)) for run in piece.runs for one in piece.entrants]
        return Finished(lost, 0.0)


Result = TypeVar("Result")
PATIENCE = 10
"""Seconds in which a scheduler must answer."""
LOOK = 2.0
"""Seconds for which the number of workers is taken to be the same."""


class DaskExecutor(Executor):
    """The executor of a Dask client, which also knows how many pieces its workers do at a time."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Not pure: equal calls would be done once, and naming them by their content takes longer than sending them.
        self._executor = client.get_executor(pure=False)
        self._threads = 1
        self._looked = float("-inf")

    @property
    def _max_workers(self) -> int:
        """The threads of all workers; the name is that in Python's own pools."""
        if time.monotonic() - self._looked > LOOK:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._looked = time.monotonic()
        return self._threads

    def submit(self, function: Callable[..., Result], /, *given: Any, **named: Any) -> "Future[Result]":
        """Send a call to some worker; one that dies with a worker is sent to another."""
        future: Future[Result] = self._executor.submit(function, *given, **named)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 (Python's)
        """Wait for what was sent, or give it up; workers and scheduler go on."""
        self._executor.shutdown(wait=wait and not cancel_futures)


@contextmanager
def dask_executor(address: str) -> Iterator[DaskExecutor]:
    """An executor on the workers of the scheduler at this address, e.g. tcp://host:8786."""
    try:
        from distributed import Client  # noqa: PLC0415 (an extra that few need)
    except ImportError:
        raise StudyError("Dask is not installed; install it with: pip install 'tpstream[dask]'") from None
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise StudyError(
            f"no Dask scheduler answers at {address} ({reason}); start one with `dask scheduler`"
        ) from None
    with client:
        executor = DaskExecutor(client)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


GUARD = "__main__"


def can_spawn(entrants: Iterable[StudyPolicy]) -> bool:
    """Whether other processes can be started from this program, and be sent these policies."""
    return main_is_guarded() and all(travels(entrant) for entrant in entrants)


def main_is_guarded() -> bool:
    """Whether a new process can load the program that it comes from without doing all of it again.

    Python loads the main file in every process that it spawns. One without `if __name__ == "__main__":` would start
    its study there once more; a shell or a notebook has no file to load.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        return True
    return GUARD in Path(file).read_text(encoding="utf-8", errors="replace")


def travels(entrant: StudyPolicy) -> bool:
    """Whether a policy can be sent to another process and is as fast there.

    A compiled policy must have a name: the code of a mere object would be compiled anew in every process.
    """
    if isinstance(entrant.choice.form, SharedPolicy):
        return entrant.named
    try:
        pickle.dumps(entrant)
    except Exception:  # noqa: BLE001 (whatever an object of a user raises, it cannot be sent)
        return False
    return True
