"""How a study's runs are cut into chunks, who runs these, and the function that does.

Chunks are long enough to be worth sending to a worker, and short enough to be shared out evenly. They are run by this
process, a pool of processes, Dask workers, or any executor that a user brings.
"""

import math
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpstream.experiment.plan import Chunk
from tpstream.experiment.processes import OwnPool, process_pool
from tpstream.experiment.sending import Obstacle
from tpstream.experiment.store import RunResult, pack
from tpstream.experiment.timeouts import Overdue, Watch, run_timed
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.model.notes import logger
from tpstream.run.cost import SECONDS_PER_EVENT
from tpstream.run.loop import RunStopped, error_line, run_policies
from tpstream.run.options import Progress
from tpstream.run.turns import Turns
from tpstream.scenario.plugins import check_unchanged

Results = Generator[list[RunResult], None, None]
"""The results of one chunk after the other, as they come."""
AHEAD = 3
"""Chunks that are submitted for each worker, so that none waits for the next one."""
WORTH = 5.0
"""Seconds of work below which processes, which take seconds to start, are not worth starting."""
TRIALS = 2
"""Runs that are done here first to see how long they take; the very first one also loads compiled code."""
UNKNOWN_WORKERS = 8
"""Assumed number of workers of an executor that does not tell how many it has."""
CONNECT_SECONDS = 10
"""Seconds in which a Dask scheduler must answer."""
RECOUNT_SECONDS = 2.0
"""Seconds after which the workers are counted again: clusters grow."""
LENGTH = 0.5
"""Seconds that a chunk should take: about a hundred times what it costs to send one to another machine."""
LENGTH_PER_WORKER = 0.01
"""The same for each of many workers: however many there are, no more than a hundred chunks a second come back."""
SHARES = 4
"""At least so many chunks for each worker, so that none waits long for the last one."""


CRASHES = {getattr(signal, name, None) for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")}
"""The signals that end a process whose memory was damaged."""
OUT_OF_BOUNDS = "a compiled policy may have used an index out of bounds: repeat with --debug, which names file and line"
"""What such an end mostly means."""


@dataclass(frozen=True, eq=False)
class PackedChunk:
    """A chunk that reaches another process as bytes, so that what is wrong with it is told there by `run_chunk`."""

    chunk: Chunk

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        """Send the packed chunk."""
        return bytes, (pickle.dumps(self.chunk),)


@dataclass(frozen=True, eq=False)
class FinishedChunk:
    """The results of a chunk, and the seconds that all of it took."""

    results: list[RunResult]
    seconds: float


def run_chunk(
    work: Chunk | PackedChunk | bytes, progress: Progress | None = None, turns: Path | None = None
) -> FinishedChunk:
    """Do all runs of a chunk, in this process; a `PackedChunk` is bytes by now.

    `turns` is a folder in which this process notes whose turn it is.
    """
    chunk: Chunk = pickle.loads(work) if isinstance(work, bytes) else work  # type: ignore[assignment] # noqa: S301 (ours)
    began = time.perf_counter()
    keys = {policy.choice.label: policy.result_key for policy in chunk.policies}
    options = replace(chunk.options, progress=progress, turns=None if turns is None else Turns(turns, keys))
    choices = [policy.choice for policy in chunk.policies]
    results = []
    for run in chunk.runs:
        try:
            found = run_policies(chunk.world.scenario, choices, chunk.seed, run, chunk.rounds, options)
        except RunStopped:
            break  # what was finished is kept
        results += [
            RunResult(key, run, pack(one.measures), one.seconds, one.failure)
            for key, one in zip(chunk.keys, found, strict=True)
        ]
    return FinishedChunk(results, time.perf_counter() - began)


class Chunker:
    """Cuts runs of one world and its policies into chunks, by the time that such runs took so far.

    The cost of a round varies a thousandfold between engines, rewards and policies, so it is measured and not
    guessed. How the runs are cut changes no result: results are kept run by run.
    """

    def __init__(self, work: Sequence[Chunk], workers: int, *, compiled: bool) -> None:
        self._work = deque(work)
        self._workers = workers
        self._compiled = compiled
        self._seconds_per_run: dict[tuple[str, ...], float] = {}

    @property
    def runs(self) -> int:
        """How many runs are left."""
        return sum(len(chunk.runs) for chunk in self._work)

    @property
    def measured(self) -> bool:
        """Whether it is known of any run how long it took."""
        return bool(self._seconds_per_run)

    @property
    def expected(self) -> float:
        """The seconds that one worker would need for all that is left; infinity as long as nothing was measured."""
        return self.runs * max(self._seconds_per_run.values(), default=math.inf)

    @property
    def guess(self) -> float:
        """Roughly the seconds of the next run, before anything was measured."""
        chunk = self._work[0]
        events = chunk.total_rounds // len(chunk.runs) * chunk.world.scenario.span
        return events * SECONDS_PER_EVENT[self._compiled]

    def next_chunk(self) -> Chunk:
        """The next runs, as a chunk; only one as long as nothing like it was measured."""
        chunk = self._work.popleft()
        # A world that was not met yet is taken to be like those that were, at the slowest.
        slowest = max(self._seconds_per_run.values(), default=LENGTH)
        seconds = self._seconds_per_run.get(chunk.keys, slowest)
        fair = -(-(self.runs + len(chunk.runs) - 1) // (SHARES * self._workers))
        length = max(LENGTH, LENGTH_PER_WORKER * self._workers)
        most = max(1, min(int(length / max(seconds, 1e-6)), fair))
        if len(chunk.runs) > most:
            self._work.appendleft(replace(chunk, runs=chunk.runs[most:]))
        return replace(chunk, runs=chunk.runs[:most])

    def put_back(self, chunks: Sequence[Chunk]) -> None:
        """Take back chunks that were not finished; they come next."""
        self._work.extendleft(reversed(chunks))

    def learn(self, chunk: Chunk, seconds: float) -> None:
        """Remember what a run of this chunk took; the last one counts, since the first ones compile."""
        self._seconds_per_run[chunk.keys] = seconds / len(chunk.runs)


def count_workers(executor: futures.Executor) -> int:
    """How many calls an executor runs at a time; Python's own pools and the executors of Dask clients tell."""
    client: Any = getattr(executor, "_client", None)
    if hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return getattr(executor, "_max_workers", None) or UNKNOWN_WORKERS


def run_chunks(
    chunker: Chunker,
    progress: Progress | None,
    *,
    executor: futures.Executor | None,
    jobs: int,
    find_obstacle: Callable[[], Obstacle | None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
    timeout: float | None = None,
) -> Results:
    """Run all chunks, by the executor or on so many cores; yields the results of one chunk after the other.

    On several cores long work goes to a pool of processes. Short work is not worth their start and is done here. What
    would go elsewhere but for an obstacle, which is looked for then, is done here, too, with a note that says why.
    When `stopped` says so, no further chunk is begun. With a `timeout` all is done by processes, since only these can
    be ended, and an obstacle is an error.
    """
    if timeout is not None:
        yield from _run_timed(chunker, progress, stopped, timeout, jobs, executor, find_obstacle)
        return
    if executor is None and jobs > 1 and chunker.guess < 1:
        yield from _run_here(chunker, progress, stopped, most=TRIALS)
    if not chunker.runs or (executor is None and (jobs <= 1 or chunker.expected < WORTH)):
        yield from _run_here(chunker, progress, stopped)
    elif (obstacle := find_obstacle()) is not None:
        logger().info("only one core is used", reason=obstacle.reason, remedy=obstacle.remedy)
        yield from _run_here(chunker, progress, stopped)
    else:
        if not isinstance(executor, futures.ThreadPoolExecutor):
            check_unchanged()
        with nullcontext(executor) if executor is not None else process_pool(jobs) as workers:
            yield from _run_on(workers, chunker, progress, stopped)


def _run_timed(
    chunker: Chunker,
    progress: Progress | None,
    stopped: Callable[[], bool],
    timeout: float,
    jobs: int,
    executor: futures.Executor | None,
    find_obstacle: Callable[[], Obstacle | None],
) -> Results:
    """Run chunks by processes that are ended when a run takes too long."""
    if executor is not None:
        raise StudyError("a time limit of runs needs processes of this machine; leave out timeout, or the cluster")
    if (obstacle := find_obstacle()) is not None:
        raise StudyError(f"a time limit needs other processes: {obstacle.reason}; {obstacle.remedy}")
    check_unchanged()

    def run_on(pool: futures.Executor, watch: Watch) -> Results:
        return _run_on(pool, chunker, progress, stopped, watch)

    yield from run_timed(chunker, timeout, run_on, partial(process_pool, max(jobs, 1)))


def _run_here(
    chunker: Chunker, progress: Progress | None, stopped: Callable[[], bool], most: float = math.inf
) -> Results:
    """Run chunks in this process, at most so many."""
    done = 0
    while chunker.runs and done < most and not stopped():
        chunk = chunker.next_chunk()
        finished = run_chunk(chunk, progress)
        chunker.learn(chunk, finished.seconds)
        done += 1
        yield finished.results


def _run_on(
    executor: futures.Executor,
    chunker: Chunker,
    progress: Progress | None,
    stopped: Callable[[], bool],
    watch: Watch | None = None,
) -> Results:
    """Submit chunks, a few ahead for each worker, and yield their results as they come.

    A `watch` looks at the time of the runs; when it has ended one, Overdue is raised.
    When they are stopped, those that were not begun are given up; the others end by themselves, with what they did.
    """
    waiting: dict[futures.Future[FinishedChunk], Chunk] = {}
    workers, counted = count_workers(executor), time.monotonic()
    try:
        while (chunker.runs and not stopped()) or waiting:
            if time.monotonic() - counted > RECOUNT_SECONDS:
                workers, counted = count_workers(executor), time.monotonic()
            # Until something was measured chunks are short, and not many of them should be on their way.
            if stopped():
                waiting = {future: chunk for future, chunk in waiting.items() if not future.cancel()}
            while chunker.runs and not stopped() and len(waiting) < (AHEAD if chunker.measured else 1) * workers:
                chunk = chunker.next_chunk()
                # Python's pools break if a worker cannot unpack its work, so that for them it is packed twice.
                packed = isinstance(executor, futures.ProcessPoolExecutor)
                work = PackedChunk(chunk) if packed else chunk
                waiting[executor.submit(run_chunk, work, turns=None if watch is None else watch.folder)] = chunk
            # In short turns, since not every system wakes a waiting thread for an interruption.
            pause = 0.5 if watch is None else watch.pause
            done, _ = futures.wait(waiting, timeout=pause, return_when=futures.FIRST_COMPLETED)
            if watch is not None:
                watch.look(executor)
            for future in done:
                if watch is not None and watch.ended and isinstance(future.exception(), futures.BrokenExecutor):
                    raise Overdue(list(waiting.values()))
                chunk = waiting.pop(future)
                finished = _result_of(future, chunk, executor)
                chunker.learn(chunk, finished.seconds)
                if progress is not None:
                    progress(chunk.total_rounds)
                yield finished.results
    finally:
        for future in waiting if not isinstance(executor, OwnPool) else ():
            future.cancel()


def _result_of(future: "futures.Future[FinishedChunk]", chunk: Chunk, executor: futures.Executor) -> FinishedChunk:
    """The results of a chunk; if it was given up its runs failed, and if all workers are lost the study ends."""
    try:
        return future.result()
    except (futures.BrokenExecutor, futures.CancelledError) as error:
        raise StudyError(f"the workers were lost ({_reason_of_loss(executor, error)}") from None
    except TpstreamError:
        check_unchanged()  # if code was edited meanwhile, that is the reason
        raise
    except Exception as error:  # noqa: BLE001 (whatever the executor of a user may raise)
        text = error_line(error)
        lost = [RunResult(key, run, b"", 0.0, text) for run in chunk.runs for key in chunk.keys]
        return FinishedChunk(lost, 0.0)


def _reason_of_loss(executor: futures.Executor, error: BaseException) -> str:
    """Why an executor lost its workers, a closing bracket, and the remedy."""
    processes: Any = list((getattr(executor, "_processes", None) or {}).values())
    for process in processes:
        process.join(1)  # the pool learns of an end shortly before its reason can be asked for
    codes = [process.exitcode for process in processes]
    crashed = next((-code for code in codes if code is not None and -code in CRASHES), None)
    if crashed is None:
        return f"{type(error).__name__}: {error}); start them again and repeat the command"
    return f"one ended with {signal.Signals(crashed).name}, {signal.strsignal(crashed)}); {OUT_OF_BOUNDS}"


@contextmanager
def dask_executor(address: str) -> Iterator[futures.Executor]:
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
    with client:  # which gives up, when it is left, what was not done
        # Not pure: equal calls would be done once, and naming them by their content takes longer than sending them.
        yield client.get_executor(pure=False)
