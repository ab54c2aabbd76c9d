"""How a study's runs are cut into chunks, and who runs these.

Chunks are long enough to be worth sending to a worker, and short enough to be shared out evenly. They are run by this
process, a pool of processes, Dask workers, or any executor that a user brings. What cannot be sent to other
processes is found before any is started.
"""

import ast
import io
import math
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from tpstream.experiment.store import RunResult
from tpstream.experiment.worker import Chunk, FinishedChunk, StudyPolicy, run_chunk
from tpstream.model.errors import StudyError, TpstreamError
from tpstream.policies.base import SharedPolicy
from tpstream.run.loop import error_line
from tpstream.run.options import Progress, RunOptions, SinkChoice
from tpstream.scenario.source_code import find_anew

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
"""Seconds after which the workers are counted again: clusters grow."""
LENGTH = 0.5
"""Seconds that a chunk should take: about a hundred times what it costs to send one to another machine."""
LENGTH_PER_WORKER = 0.01
"""The same for each of many workers: however many there are, no more than a hundred chunks a second come back."""
SHARES = 4
"""At least so many chunks for each worker, so that none waits long for the last one."""
IN_A_FILE = "define it at the top level of a module that can be imported, or of a plug-in file (load_plugin)"
"""What to do with a definition that no other process finds."""


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

    def learn(self, chunk: Chunk, seconds: float) -> None:
        """Remember what a run of this chunk took; the last one counts, since the first ones compile."""
        self._seconds_per_run[chunk.keys] = seconds / len(chunk.runs)


def count_workers(executor: futures.Executor) -> int:
    """How many calls an executor runs at a time; Python's own pools and the executors of Dask clients tell."""
    client: Any = getattr(executor, "_client", None)
    if hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return getattr(executor, "_max_workers", None) or UNKNOWN_WORKERS


def run_chunks(chunker: Chunker, progress: Progress | None, *, executor: futures.Executor | None, jobs: int) -> Results:
    """Run all chunks, by the executor or on so many cores; yields the results of one chunk after the other.

    On several cores long work goes to a pool of processes. Short work is not worth their start and is done here.
    """
    if executor is not None:
        yield from _run_on(executor, chunker, progress)
        return
    if jobs > 1 and chunker.guess < 1:
        yield from _run_here(chunker, progress, most=TRIALS)
    if jobs > 1 and chunker.runs and chunker.expected >= WORTH:
        with process_pool(jobs) as pool:
            yield from _run_on(pool, chunker, progress)
    else:
        yield from _run_here(chunker, progress)


def _run_here(chunker: Chunker, progress: Progress | None, most: float = math.inf) -> Results:
    """Run chunks in this process, at most so many."""
    done = 0
    while chunker.runs and done < most:
        chunk = chunker.next_chunk()
        finished = run_chunk(chunk, progress)
        chunker.learn(chunk, finished.seconds)
        done += 1
        yield finished.results


@contextmanager
def process_pool(jobs: int) -> Iterator[futures.Executor]:
    """A pool of so many processes, which start when there is work for them and are ended by any error."""
    # At an interruption a process of the pool ends without a traceback: the first process reports it.
    quiet = (signal.SIGINT, signal.SIG_DFL)
    with futures.ProcessPoolExecutor(jobs, get_context("spawn"), initializer=signal.signal, initargs=quiet) as pool:
        try:
            yield pool
        except BaseException:
            for process in list(pool._processes.values()):  # noqa: SLF001 (public from Python 3.14 on)
                process.terminate()
            raise


def _run_on(executor: futures.Executor, chunker: Chunker, progress: Progress | None) -> Results:
    """Submit chunks, a few ahead for each worker, and yield their results as they come."""
    waiting: dict[futures.Future[FinishedChunk], Chunk] = {}
    workers, counted = count_workers(executor), time.monotonic()
    try:
        while chunker.runs or waiting:
            if time.monotonic() - counted > RECOUNT_SECONDS:
                workers, counted = count_workers(executor), time.monotonic()
            # Until something was measured chunks are short, and not many of them should be on their way.
            while chunker.runs and len(waiting) < (AHEAD if chunker.measured else 1) * workers:
                chunk = chunker.next_chunk()
                waiting[executor.submit(run_chunk, chunk)] = chunk
            # In short turns, since not every system wakes a waiting thread for an interruption.
            done, _ = futures.wait(waiting, timeout=0.5, return_when=futures.FIRST_COMPLETED)
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


def _result_of(future: "futures.Future[FinishedChunk]", chunk: Chunk) -> FinishedChunk:
    """The results of a chunk; if it was given up its runs failed, and if all workers are lost the study ends."""
    try:
        return future.result()
    except (futures.BrokenExecutor, futures.CancelledError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StudyError(f"the workers were lost ({reason}); start them again and repeat the command") from None
    except TpstreamError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever the executor of a user may raise)
        text = error_line(error)
        lost = [RunResult(key, run, b"", 0.0, text) for run in chunk.runs for key in chunk.keys]
        return FinishedChunk(lost, 0.0)


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


class Obstacle(NamedTuple):
    """Why work cannot be given to other processes, and what to do about it."""

    reason: str
    remedy: str


def processes_obstacle(policies: Iterable[StudyPolicy], options: RunOptions) -> Obstacle | None:
    """What keeps this work from being given to processes that this program starts; None if nothing does."""
    file = unguarded_main()
    if file is not None:
        reason = f'{file.name} has no if __name__ == "__main__": and each new process would do all of it again'
        return Obstacle(reason, 'put the call under if __name__ == "__main__":')
    found = (policy_obstacle(policy) for policy in policies)
    return next((one for one in found if one is not None), None) or sinks_obstacle(options)


def unguarded_main() -> Path | None:
    """The main file of this program, if a new process cannot load it without doing all of it again.

    Python loads the main file in every process that it spawns. One without `if __name__ == "__main__":` would start
    its study there once more; a shell or a notebook has no file to load.
    """
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None or not Path(file).is_file():
        return None
    return None if "__main__" in Path(file).read_text(encoding="utf-8", errors="replace") else Path(file)


def policy_obstacle(policy: StudyPolicy) -> Obstacle | None:
    """Why a policy cannot be sent to another process, or would be slow there; None if it can be sent.

    A compiled policy must have a name: the code of a mere object would be compiled anew in every process.
    """
    form = policy.choice.form
    what = f"the policy {policy.choice.label!r}"
    if policy.named:
        return None
    if isinstance(form, SharedPolicy):
        reason = f"{what} is compiled and an object without a registered name: every process would compile it anew"
        return Obstacle(reason, "name it in PLUGINS of a plug-in file, load that (load_plugin), and ask for it by name")
    name = str(getattr(form.create, "__qualname__", ""))
    if "<lambda>" in name:
        remedy = "write a function with def, or a class, at the top level of a module or of a plug-in file"
        return Obstacle(f"{what} is created by a lambda, which cannot be sent to another process", remedy)
    if "<locals>" in name:
        around = name.partition(".<locals>")[0]
        reason = f"{what} is created by {name.rpartition('.')[2]}, which is defined inside {around} and cannot be sent"
        return Obstacle(reason, IN_A_FILE)
    return sending_obstacle(what, form)


def sinks_obstacle(options: RunOptions) -> Obstacle | None:
    """Why the sinks would not hear runs in other processes; None if they would: those with a name are opened there."""
    for sink in options.sinks:
        if not isinstance(sink, SinkChoice):
            reason = f"the sink {type(sink).__name__} is an object of this process and would hear no run of another one"
            return Obstacle(reason, "give the name of a sink plug-in, which every process opens for itself")
    return None


def executor_obstacle(executor: futures.Executor, options: RunOptions) -> Obstacle | None:
    """What keeps this work from being given to this executor; None if nothing does. Threads share this process."""
    return None if isinstance(executor, futures.ThreadPoolExecutor) else sinks_obstacle(options)


def sending_obstacle(what: str, value: Any) -> Obstacle | None:
    """Why a value cannot be packed here and unpacked in another process; None if it can."""
    needed: list[tuple[str, str]] = []

    class Unpacker(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            needed.append((module, name))
            return super().find_class(module, name)

    try:
        Unpacker(io.BytesIO(pickle.dumps(value))).load()
    except Exception as error:  # noqa: BLE001 (whatever an object of a user raises, it cannot be sent)
        text = " ".join(str(error).split())
        return Obstacle(f"{what} cannot be sent to another process ({type(error).__name__}: {text})", IN_A_FILE)
    for module, name in needed:
        lost = _unreachable(module, name)
        if lost:
            return Obstacle(f"{what} needs {name}, which {lost}", IN_A_FILE)
    return None


def _unreachable(module: str, name: str) -> str | None:
    """Why a new process does not find a name of a module; None if it does."""
    if module != "__main__":
        return None if find_anew(module) else f"is in {module}, a module that another process cannot import"
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None or not Path(file).is_file():
        return "is defined at a prompt or in a notebook, where no other process finds it"
    # A new process loads the main file under another name, so that it passes over what is under the guard.
    tree = ast.parse(Path(file).read_bytes())
    loaded = [statement for statement in tree.body if not _is_guard(statement)]
    names = {getattr(node, "name", getattr(node, "id", None)) for statement in loaded for node in ast.walk(statement)}
    if name.partition(".")[0] in names:
        return None
    return f'is not defined in {Path(file).name} outside of if __name__ == "__main__":, where no other process finds it'


def _is_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)
