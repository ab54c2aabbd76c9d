"""The live page: a small HTTP server on the loopback address that shows runs while they go on, and can stop them.

Browsers and runs talk to it. A browser gets the page, then a stream of server-sent events: `state`, the progress and
the estimates so far, and `log`, the picture of one policy's run, which the script of the explorer draws. Whoever does
not know the token of the printed address, or comes from another page, is refused.
"""

import hmac
import json
import math
import secrets
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import numpy as np

from tpstream.analysis.intervals import Interval, t_reach, wilson_interval
from tpstream.model.errors import PageError
from tpstream.view.explorer import SCRIPTS
from tpstream.view.pages import make_page
from tpstream.view.words import clean

LOOPBACK = "127.0.0.1"
LARGEST_MESSAGE = 50_000_000
"""Bytes of a message that a run may send."""
LARGEST_WISH = 1_000
"""Bytes of the wish to stop."""
PATIENCE = 20.0
"""Seconds in which whoever talks to the page must go on."""
HEARTBEAT = 2.0
"""Seconds after which a browser is told something in any case, so that one that is gone is noticed."""
FAREWELL = 3.0
"""Seconds in which browsers are told how it ended."""
STEADY = 5.0
"""Seconds for which a run is shown before another one of the same policy."""
RUNNING = "running"
SAFE = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
"""Headers of every answer: nothing is kept, guessed, shown inside of another page or told to one."""
SHARES = ("share of best arm",)
"""Estimates that are means of shares, of which an interval does not leave 0 to 1."""
EVENTS = ("best arm chosen", "superiority")
"""Estimates of the probability that something happens in a run: 0 or 1 in each."""


class Cell(NamedTuple):
    """Whose runs an estimate is about."""

    scenario: str
    cell: str
    """What was set, in words; empty if the study has one cell."""
    policy: str


class RunningMean:
    """The mean of numbers that come one by one, and their spread, without keeping them (Welford 1962)."""

    def __init__(self) -> None:
        self.count, self.mean = 0, 0.0
        self._squares = 0.0
        """The sum of the squared distances from the mean."""

    def add(self, number: float) -> None:
        """Take the next number."""
        before = number - self.mean
        self.count += 1
        self.mean += before / self.count
        self._squares += before * (number - self.mean)

    @property
    def deviation(self) -> float:
        """The standard deviation of two numbers or more."""
        return math.sqrt(self._squares / (self.count - 1))


class PageState:
    """What the page shows: everything that changes, guarded by one lock."""

    def __init__(self, title: str, *, follows: bool = False) -> None:
        self.changed = threading.Condition()
        self._title, self._follows = title, follows
        self._version = 0
        self._began = self._heard = time.monotonic()
        self._done, self._total = 0, None
        self._status = RUNNING
        self._runs: dict[str, Mapping[str, Any]] = {}
        self._means: dict[Cell, dict[str, RunningMean]] = {}
        self._pictures: dict[str, tuple[int, Mapping[str, Any], float]] = {}
        self.stop = False
        """Whether someone asked to stop."""
        self.viewers = 0
        """Browsers that listen."""

    def expect(self, rounds: int) -> None:
        """Set the number of rounds that there will be."""
        self._change(_total=rounds)

    def __call__(self, rounds: int) -> None:
        """Take the rounds that were done since the last call; so a state is a progress of runs."""
        self._done += rounds  # told with the next change, or the next heartbeat
        if rounds:
            self._heard = time.monotonic()

    def take(self, message: Mapping[str, Any]) -> None:
        """Take what a run tells: how far it is, results of finished runs, pictures."""
        with self.changed:
            for run in message.get("runs", ()):
                self._runs[clean(run["policy"])] = {**run, "policy": clean(run["policy"])}
            for one in message.get("finished", ()):
                cell = Cell(*(clean(one.get(name, "")) for name in Cell._fields))
                means = self._means.setdefault(cell, {})
                for name, number in one["numbers"].items():
                    means.setdefault(name, RunningMean()).add(float(number))
            self._version += 1
            for picture in message.get("pictures", ()):
                self._show(clean(picture["policy"]), picture)
            self.changed.notify_all()

    def _show(self, policy: str, picture: Mapping[str, Any]) -> None:
        """Show a picture of a policy's run, unless that of another run is new: it would change all the time."""
        _, run, seen = self._pictures.get(policy, (0, {"run": picture["run"]}, -STEADY))
        now = time.monotonic()
        if run["run"] == picture["run"] or now - seen >= STEADY:
            self._pictures[policy] = (self._version, picture, now)

    def ask_to_stop(self) -> None:
        """Remember that a viewer asked to stop."""
        self._change(stop=True)

    def end(self, status: str) -> None:
        """Tell how it ended; after that, nothing changes any more."""
        self._change(_status=status)

    def _change(self, **values: Any) -> None:
        with self.changed:
            for name, value in values.items():
                setattr(self, name, value)
            self._version += 1
            self.changed.notify_all()

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._version

    @property
    def ended(self) -> bool:
        """Whether the last change was made."""
        return self._status != RUNNING

    def described(self) -> dict[str, Any]:
        """Progress, status and estimates, as the page takes them."""
        return {
            "title": clean(self._title),
            "status": self._status,
            "follows": self._follows,
            "stopping": self.stop,
            "done": self._done,
            "total": self._total,
            "quiet": time.monotonic() - self._heard,
            "seconds": time.monotonic() - self._began,
            "runs": list(self._runs.values()),
            "estimates": [
                {"policy": cell.policy, "label": label, **_estimates(self._means[cell])}
                for cell, label in _labels(list(self._means)).items()
            ],
        }

    def pictures_since(self, version: int) -> list[Mapping[str, Any]]:
        """The pictures that are newer than this."""
        return [picture for at, picture, _ in self._pictures.values() if at > version]


def _labels(cells: Sequence[Cell]) -> dict[Cell, str]:
    """What tells each cell from the others: of scenario and policy those that are not the same in all."""
    several = {name: len({getattr(cell, name) for cell in cells}) > 1 for name in ("scenario", "policy")}
    found = {}
    for cell in cells:
        parts = [cell.scenario if several["scenario"] else "", cell.cell, cell.policy if several["policy"] else ""]
        found[cell] = ", ".join(filter(None, parts)) or cell.policy
    return found


def _estimates(means: Mapping[str, RunningMean]) -> dict[str, Any]:
    """Means over the finished runs with their 95 % intervals; no bounds for a single run."""
    found: dict[str, Any] = {"runs": max(one.count for one in means.values())}
    for name, one in means.items():
        if one.count == 1:
            bounds = None
        elif name in EVENTS:
            bounds = list(wilson_interval(round(one.mean * one.count), one.count))
        else:
            mean, reach = np.array(one.mean), t_reach(one.count, one.deviation)
            interval = Interval(mean, mean - reach, mean + reach).within(0.0, 1.0 if name in SHARES else np.inf)
            bounds = [float(interval.low), float(interval.high)]
        found[name] = {"mean": one.mean, "interval": bounds, "share": name in (*SHARES, *EVENTS)}
    return found


def live_html() -> str:
    """The page as it is before it has heard anything; a server of any kind can send it and its stream of events."""
    scripts = (*SCRIPTS[:-1], "live.js", SCRIPTS[-1])
    page = make_page(
        "explorer.html", styles=["explorer.css"], scripts=scripts, connects=True, title="tpstream", data=""
    )
    return page.text


def changes_since(state: PageState, version: int) -> tuple[bytes, int]:
    """What is newer than this version, as server-sent events, and the version up to which it is."""
    with state.changed:
        pictures, described, version = state.pictures_since(version), state.described(), state.version
    told = [*(("log", picture) for picture in pictures), ("state", described)]
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in told), version


class LivePage:
    """Serves a live page as long as it is entered.

    Parameters
    ----------
    title
        What is shown, as the page's title.
    port
        Where to listen; 0: any free port.
    follows
        Whether logs are followed that others write: then there is nothing to stop.

    Examples
    --------
    >>> with LivePage("a study") as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, title: str, port: int = 0, *, follows: bool = False) -> None:
        self.token = secrets.token_urlsafe(16)
        self.state = PageState(title, follows=follows)
        try:
            self._server = _Server((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PageError(f"port {port}: cannot be listened to: {reason}; choose another with --port") from error
        self.port: int = self._server.server_address[1]
        self._server.page = self
        # Without a pause after which it looks around: that would interrupt the runs, which costs them 3 %.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(None,), daemon=True)

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Tell the browsers how it ended, and close."""
        if not self.state.ended:
            ends = "stopped" if self.state.stop else "finished"
            interrupted = failure is not None and issubclass(failure, KeyboardInterrupt)
            self.state.end(ends if failure is None else "interrupted" if interrupted else "failed")
        patience = time.monotonic() + FAREWELL
        with self.state.changed:
            while self.state.viewers and time.monotonic() < patience:
                self.state.changed.wait(0.1)
        ending = threading.Thread(target=self._server.shutdown, daemon=True)
        ending.start()
        while ending.is_alive():  # it notices with the next connection only
            with suppress(OSError):
                socket.create_connection((LOOPBACK, self.port), PATIENCE).close()
            ending.join(0.01)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: LivePage

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing is printed of who went away in the middle, as a browser does whose page is loaded anew."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server
    timeout = PATIENCE
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tpstream", ""

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """The page, or the stream of what changes."""
        try:
            address = urlsplit(self.path)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST, "this is no address")
            return
        if not self._allowed(parse_qs(address.query).get("token", [""])[0]):
            return
        if address.path == "/":
            self._send(HTTPStatus.OK, live_html().encode(), "text/html; charset=utf-8")
        elif address.path == "/events":
            self._stream()
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def do_POST(self) -> None:
        """A message of a run, or the wish to stop."""
        state = self.server.page.state
        if not self._allowed(self.headers.get("X-Token", "")):
            self.close_connection = True  # what it sends is not read
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > (LARGEST_MESSAGE if self.path == "/feed" else LARGEST_WISH):
            self.close_connection = True
            self._refuse(HTTPStatus.BAD_REQUEST, "this message is too long, or its length is unknown")
            return
        body = self.rfile.read(int(length))
        if self.path == "/stop":
            state.ask_to_stop()
        elif self.path == "/feed":
            try:
                state.take(json.loads(body))
            except (ValueError, KeyError, TypeError, AttributeError):
                self._refuse(HTTPStatus.BAD_REQUEST, "this is no message of a run")
                return
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
            return
        answer = {"looked_at": state.viewers > 0, "stop": state.stop}
        self._send(HTTPStatus.OK, json.dumps(answer).encode(), "application/json")

    def _allowed(self, token: str) -> bool:
        """Whether the request is meant for this page, comes from it or from no page, and knows the token."""
        port = self.server.page.port
        hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "this address is not served")
        elif origin is not None and origin not in {f"http://{host}" for host in hosts}:
            self._refuse(HTTPStatus.FORBIDDEN, "another page may not ask")
        elif not hmac.compare_digest(token.encode(), self.server.page.token.encode()):
            self._refuse(
                HTTPStatus.FORBIDDEN, "the token is missing or wrong; use the address that the command printed"
            )
        else:
            return True
        return False

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, type: str) -> None:
        self.send_response(status)
        self._send_headers(type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_headers(self, type: str) -> None:
        self.send_header("Content-Type", type)
        for name, value in SAFE.items():
            self.send_header(name, value)

    def _stream(self) -> None:
        """Tell a browser everything that changes, until the runs have ended or it is gone."""
        state, version = self.server.page.state, -1
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._send_headers("text/event-stream")
        self.end_headers()
        with state.changed:
            state.viewers += 1
            state.changed.notify_all()
        try:
            ended = False
            while not ended:
                with state.changed:
                    state.changed.wait_for(lambda: state.version > version, HEARTBEAT)  # noqa: B023 (called at once)
                    ended = state.ended
                told, version = changes_since(state, version)
                self.wfile.write(told)
                self.wfile.flush()
        except OSError:
            pass  # the browser is gone
        finally:
            with state.changed:
                state.viewers -= 1
                state.changed.notify_all()
