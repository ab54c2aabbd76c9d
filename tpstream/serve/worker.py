"""The one thread that talks to a decider: it takes all requests that wait at once, so that they share one flush."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from structlog.typing import FilteringBoundLogger

from tpstream.model.errors import DeciderError, TpstreamError
from tpstream.serve.metrics import Metrics
from tpstream.serve.requests import Decide, Reply, Request

MOST_AT_ONCE = 1_000
"""Requests that are handled together: more would make the first of them wait for the last."""


class Asked(Protocol):
    """What a worker needs of a decider."""

    def handle(self, requests: Sequence[Request]) -> list[Reply]:
        """The answers to some requests, all of which are on the disk then."""

    def close(self) -> None:
        """Write what is needed to go on, and close the log."""


class BusyError(Exception):
    """So many requests wait already that no further one is taken."""


class StoppingError(Exception):
    """The worker takes no requests any more."""


class _Task(NamedTuple):
    """What is to be done: requests, or a function of the decider; and who waits for it."""

    work: Sequence[Request] | Callable[[], Any]
    answer: "asyncio.Future[Any]"


class Worker:
    """Hands requests from an event loop to a decider, in a thread of its own; make it inside of that loop.

    Parameters
    ----------
    name
        What the thread is called.
    decider
        The decider; nobody else may use it as long as this worker does.
    metrics
        Are told how many requests were handled together, and how long it took.
    log
        Is told what went wrong.
    waiting
        How many requests may wait.
    """

    def __init__(self, name: str, decider: Asked, metrics: Metrics, log: FilteringBoundLogger, waiting: int) -> None:
        self._decider, self._metrics, self._log, self._most = decider, metrics, log, waiting
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._stopping = False
        self.waiting = 0
        """Requests that wait, or are being handled."""
        self._thread = threading.Thread(target=self._work, name=f"decider {name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether requests are handled."""
        return self._thread.is_alive()

    async def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """The answers to requests, when they are on the disk; what could not be written is raised."""
        if self.waiting + len(requests) > self._most and self.waiting:
            raise BusyError
        self.waiting += len(requests)
        try:
            replies: list[Reply] = await self._put(requests)
        finally:
            self.waiting -= len(requests)
        return replies

    async def call(self, function: Callable[[], Any]) -> Any:
        """What a function returns that uses the decider."""
        return await self._put(function)

    async def _put(self, work: Sequence[Request] | Callable[[], Any]) -> Any:
        if self._stopping:
            raise StoppingError
        answer = self._loop.create_future()
        self._tasks.put(_Task(work, answer))
        return await answer

    async def stop(self) -> None:
        """Do all that waits, then close the decider."""
        self._stopping = True
        self._tasks.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        """Do tasks until there is the end of them: requests together, functions one by one."""
        going = True
        while going:
            tasks: list[_Task] = []
            requests = 0
            task: _Task | None = self._tasks.get()
            while task is not None:
                tasks.append(task)
                requests += 1 if callable(task.work) else len(task.work)
                if requests >= MOST_AT_ONCE:
                    break
                try:
                    task = self._tasks.get_nowait()
                except Empty:
                    break
            going = task is not None
            self._do(tasks)
        try:
            self._decider.close()
        except TpstreamError as error:
            self._log.error("the log could not be closed", reason=str(error))

    def _do(self, tasks: Sequence[_Task]) -> None:
        """Do tasks in their order, consecutive requests together."""
        together: list[_Task] = []
        for task in tasks:
            if callable(task.work):
                self._handle(together)
                together = []
                self._settle([(task, *self._result(task.work))])
            else:
                together.append(task)
        self._handle(together)

    def _handle(self, tasks: Sequence[_Task]) -> None:
        """Let the decider handle the requests of all tasks at once, and share out the answers.

        Where the policy fails, what does not ask it is handled all the same.
        """
        requests = [request for task in tasks if not callable(task.work) for request in task.work]
        if not requests:
            return
        began = time.perf_counter()
        replies, error = self._result(lambda: self._decider.handle(requests))
        self._metrics.handled(len(requests), time.perf_counter() - began)
        if error is not None and not isinstance(error, DeciderError):
            told = [task for task in tasks if not _asks(task)]
            if told and len(told) < len(tasks):
                self._handle(told)
                self._handle([task for task in tasks if _asks(task)])
                return
        results, done = [], 0
        for task in tasks:
            count = 0 if callable(task.work) else len(task.work)
            results.append((task, None if replies is None else replies[done : done + count], error))
            done += count
        self._settle(results)

    def _result(self, function: Callable[[], Any]) -> tuple[Any, Exception | None]:
        """What a function returns, or what it raises; a fault of ours is told of, and the thread goes on."""
        try:
            return function(), None
        except TpstreamError as error:
            self._log.warning("refused", reason=str(error))
            return None, error
        except Exception as error:  # noqa: BLE001 (whoever asked is told, and others can go on)
            self._log.error("the decider failed", reason=f"{type(error).__name__}: {error}", exc_info=True)
            return None, error

    def _settle(self, results: Sequence[tuple[_Task, Any, Exception | None]]) -> None:
        """Wake those who wait, in the event loop; nobody waits any more after it was closed."""
        try:
            self._loop.call_soon_threadsafe(_settle_all, results)
        except RuntimeError:
            self._log.warning("nobody waits for an answer any more", answers=len(results))


def _asks(task: _Task) -> bool:
    """Whether a decision is among the requests of a task."""
    return not callable(task.work) and any(isinstance(request, Decide) for request in task.work)


def _settle_all(results: Sequence[tuple[_Task, Any, Exception | None]]) -> None:
    for task, value, error in results:
        if task.answer.done():
            continue  # it was cancelled: whoever asked closed the connection
        if error is None:
            task.answer.set_result(value)
        else:
            task.answer.set_exception(error)
