"""Callers of many threads who share one batch: while one batch is on its way to disk, the next one gathers."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from tpstream.model.errors import DeciderError
from tpstream.serve.requests import Reply, Request


class _Call(NamedTuple):
    """What one caller asks, and what he is answered."""

    requests: Sequence[Request]
    answer: "Future[list[Reply]]"


class SharedBatches:
    """Hands the requests of all callers who wait to a function, together.

    A caller who finds nobody at work handles all requests that wait, his own among them, and the others are woken with
    their answers. So there is one batch at a time, without a thread or a timer.

    Parameters
    ----------
    handle
        Answers a batch of requests, or raises; it is never called by two threads at once.
    """

    def __init__(self, handle: Callable[[Sequence[Request]], list[Reply]]) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._waiting: list[_Call] = []
        self._leader: _Call | None = None
        self._thread: int | None = None
        """The thread that is at work."""

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """The answers to some requests; what handling them raised."""
        if self._thread == threading.get_ident():
            raise DeciderError("a subscriber asks the decider that tells it events; do that later, or in a thread")
        call = _Call(requests, Future())
        taken: list[_Call] = []
        try:
            with self._changed:
                self._waiting.append(call)
                self._changed.wait_for(lambda: self._leader is None or call.answer.done())
                if not call.answer.done():
                    self._leader, self._thread = call, threading.get_ident()
                    taken, self._waiting = self._waiting, []
            self._answer(taken)
        finally:  # an interrupt comes here, too: nobody may wait for one who is gone
            with self._changed:
                undone = [one for one in (*taken, *self._waiting) if not one.answer.done()]
                self._waiting = [one for one in undone if one is not call]
                if self._leader is call:
                    self._leader = self._thread = None
                    self._changed.notify_all()
        return call.answer.result()

    def _answer(self, calls: list[_Call]) -> None:
        """Answer these calls by one batch; if it fails, each by itself, so that none fails by another's fault."""
        requests = [request for call in calls for request in call.requests]
        try:
            replies = self._handle(requests) if calls else []
        except Exception as error:  # noqa: BLE001 (whoever asked is told)
            if len(calls) == 1:
                calls[0].answer.set_exception(error)
                return
            for call in calls:
                self._answer([call])
            return
        done = 0
        for call in calls:
            call.answer.set_result(replies[done : done + len(call.requests)])
            done += len(call.requests)
