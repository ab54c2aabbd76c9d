"""The live page of an experiment: its log is read while somebody looks, and sent to browsers as it grows."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from tpstream.model.errors import TpstreamError
from tpstream.view.follow import BREAK, FollowedLog
from tpstream.view.live import HEARTBEAT, PageState, changes_since

LOOK = 0.25
"""Seconds between two looks at what changed."""
PAUSE = 1.0
"""Seconds between two readings of the log, at least."""
MOST_VIEWERS = 20
"""Browsers that may look at one experiment at the same time."""


class LogPage:
    """Reads the log of an experiment in a thread while browsers look at it.

    Parameters
    ----------
    name
        The experiment, as the page's title.
    path
        Its log.
    log
        Is told if the log cannot be read.
    """

    def __init__(self, name: str, path: Path, log: FilteringBoundLogger) -> None:
        self._name, self._path, self._log = name, path, log
        self.state = PageState(name, follows=True)
        self._followed: FollowedLog | None = None
        self._thread: threading.Thread | None = None
        self._ended = False

    @property
    def full(self) -> bool:
        """Whether no further browser may look."""
        return self.state.viewers >= MOST_VIEWERS

    def end(self) -> None:
        """Tell the browsers that nothing more comes."""
        self._ended = True
        self.state.end("stopped")

    async def events(self) -> AsyncIterator[bytes]:
        """What a browser is told, until the service ends or the browser goes."""
        state, version, told_at = self.state, -1, 0.0
        with state.changed:
            state.viewers += 1
        try:
            self._start()
            while True:
                ended, now = state.ended, time.monotonic()
                if state.version > version or now - told_at > HEARTBEAT:
                    told_at = now
                    told, version = await asyncio.to_thread(changes_since, state, version)
                    yield told
                if ended:
                    return
                await asyncio.sleep(LOOK)
        finally:
            with state.changed:
                state.viewers -= 1

    def _start(self) -> None:
        """Read the log, if that is not done already."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._read, name=f"page of {self._name}", daemon=True)
            self._thread.start()

    def _read(self) -> None:
        """Read what is new in the log from time to time, until nobody looks any more."""
        while self.state.viewers and not self._ended:
            began = time.monotonic()
            try:
                if self._followed is None:
                    self._followed = FollowedLog(self._path)
                self._add(self._followed)
            except (TpstreamError, OSError) as error:
                self._log.warning("the page cannot read the log", reason=str(error))
                self._followed = None
            time.sleep(max(PAUSE, BREAK * (time.monotonic() - began)))

    def _add(self, followed: FollowedLog) -> None:
        for pulls in followed.read_batches():
            self.state(pulls)
        picture = followed.picture()
        self.state.take({"runs": [followed.news()], "pictures": [] if picture is None else [picture]})
