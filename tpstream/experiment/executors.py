"""Who runs a study's chunks: this process, a pool of processes, Dask workers, or any executor that a user brings."""

import math
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from tpstream.experiment.chunks import Chunker
from tpstream.experiment.store import RunResult
from tpstream.experiment.worker import Chunk, FinishedChunk, StudyPolicy, run_chunk
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.policies.base import SharedPolicy
from tpstream.run.loop import error_line
from tpstream.run.options import Progress

Returned = TypeVar("Returned")
Results = Generator[list[RunResult], None, None]
"""The results of one chunk after the other, as they come."""
AHEAD = 3
"""Chunks that are submitted for each worker, so that none waits for the next one."""
WORTH = 5.0
"""Seconds of work below which processes, which take seconds to start, are not worth starting."""
TRIALS = 2
"""Runs that are done here first to see how long they take; the very first one also loads compiled code."""
SECONDS_PER_EVENT = {True: 5e-9, False: 2.5e-6}
"""A rough guess, compiled or not; a run of more than a second is not done here first."""
UNKNOWN_WORKERS = 8
"""Assumed number of workers of an executor that does not tell how many it has."""
CONNECT_SECONDS = 10
"""Seconds in which a Dask scheduler must answer."""
RECOUNT_SECONDS = 2.0
"""Seconds after which the workers of a Dask cluster are counted again: clusters grow."""


def default_jobs() -> int:
    """One job for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_workers(executor: Executor) -> int:
    """How many calls an executor runs at a time; Python's own pools and ours for Dask tell."""
    return getattr(executor, "_max_workers", None) or UNKNOWN_WORKERS


def run_chunks(
    chunker: Chunker,
    progress: Progress | None,
    *,
    executor: Executor | None,
    jobs: int,
    compiled: bool,
    processes: bool,
) -> Results:
    """Run all chunks, by the executor or on so many cores; yields the results of one chunk after the other.

    On several cores, long work goes to a pool of processes, if policies can be sent there (`processes`). Short work is
    not worth their start and is done here.
    """
    if executor is not None:
        yield from _run_on(executor, chunker, progress)
        return
    if jobs > 1 and processes and chunker.events * SECONDS_PER_EVENT[compiled] < 1:
        yield from _run_here(chunker, progress, most=TRIALS)
    if jobs > 1 and processes and chunker and chunker.expected >= WORTH:
        yield from _run_in_processes(chunker, jobs, progress)
    else:
        yield from _run_here(chunker, progress)


def _run_here(chunker: Chunker, progress: Progress | None, most: float = math.inf) -> Results:
    """Run chunks in this process, at most so many."""
    done = 0
    while chunker and done < most:
        chunk = chunker.next_chunk()
        finished = run_chunk(chunk, progress)
        chunker.learn(chunk, finished.seconds)
        done += 1
        yield finished.results


def _run_in_processes(chunker: Chunker, jobs: int, progress: Progress | None) -> Results:
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_end_silently) as pool:
        try:
            yield from _run_on(pool, chunker, progress)
        except BaseException:
            for process in list(pool._processes.values()):  # noqa: SLF001 (public from Python 3.14 on)
                process.terminate()
            raise


def _end_silently() -> None:
    """Let a process of the pool end at an interruption without a traceback: the first process reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_on(executor: Executor, chunker: Chunker, progress: Progress | None) -> Results:
    """Submit chunks, a few ahead for each worker, and yield their results as they come."""
    waiting: dict[Future[FinishedChunk], Chunk] = {}
    try:
        while chunker or waiting:
            # Until something was measured chunks are short, and not many of them should be on their way.
            while chunker and len(waiting) < (AHEAD if chunker.measured else 1) * count_workers(executor):
                chunk = chunker.next_chunk()
                waiting[executor.submit(run_chunk, chunk)] = chunk
            # In short turns, since not every system wakes a waiting thread for an interruption.
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = waiting.pop(future)
                finished = _result_of(future, chunk)
                chunker.learn(chunk, finished.seconds)
                if progress is not None:
                    progress(chunk.total_rounds)
                yield finished.results
    finally:
        for future in waiting:
            future.cancel()


def _result_of(future: "Future[FinishedChunk]", chunk: Chunk) -> FinishedChunk:
    """The results of a chunk; if it was given up its runs failed, and if all workers are lost the study ends."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StudyError(f"the workers were lost ({reason}); start them again and repeat the command") from None
    except TpstreamError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever the executor of a user may raise)
        text = error_line(error)
        lost = [RunResult(one.result_key, run, b"", 0.0, text) for run in chunk.runs for one in chunk.policies]
        return FinishedChunk(lost, 0.0)


def can_use_processes(policies: Iterable[StudyPolicy]) -> bool:
    """Whether other processes can be started from this program, and be sent these policies."""
    return main_is_guarded() and all(can_be_sent(policy) for policy in policies)


def main_is_guarded() -> bool:
    """Whether a new process can load the program that it comes from without doing all of it again.

    Python loads the main file in every process that it spawns. One without `if __name__ == "__main__":` would start
    its study there once more; a shell or a notebook has no file to load.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        return True
    return "__main__" in Path(file).read_text(encoding="utf-8", errors="replace")


def can_be_sent(policy: StudyPolicy) -> bool:
    """Whether a policy can be sent to another process and is as fast there.

    A compiled policy must have a name: the code of a mere object would be compiled anew in every process.
    """
    if isinstance(policy.choice.form, SharedPolicy):
        return policy.named
    try:
        pickle.dumps(policy)
    except Exception:  # noqa: BLE001 (whatever an object of a user raises, it cannot be sent)
        return False
    return True


class DaskExecutor(Executor):
    """The executor of a Dask client, which also knows how many chunks its workers run at a time."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Not pure: equal calls would be done once, and naming them by their content takes longer than sending them.
        self._executor = client.get_executor(pure=False)
        self._threads = 1
        self._counted = -math.inf

    @property
    def _max_workers(self) -> int:
        """The threads of all workers; the name is that in Python's own pools."""
        if time.monotonic() - self._counted > RECOUNT_SECONDS:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._threads

    def submit(self, function: Callable[..., Returned], /, *given: Any, **named: Any) -> "Future[Returned]":
        """Send a call to some worker; one that dies with a worker is sent to another."""
        future: Future[Returned] = self._executor.submit(function, *given, **named)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 (Python's)
        """Wait for what was sent, or give it up; workers and scheduler go on."""
        self._executor.shutdown(wait=wait and not cancel_futures)


@contextmanager
def dask_executor(address: str) -> Iterator[DaskExecutor]:
    """An executor on the workers of the Dask scheduler at this address, e.g. tcp://host:8786."""
    try:
        from distributed import Client  # noqa: PLC0415 (an extra that few need)
    except ImportError:
        raise StudyError("Dask is not installed; install it with: pip install 'tpstream[dask]'") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
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
