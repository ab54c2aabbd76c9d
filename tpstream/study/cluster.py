"""Dask: the executor for more machines than one."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from tpstream.model.errors import StudyError

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
