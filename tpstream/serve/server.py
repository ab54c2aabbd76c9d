"""The server: it opens the experiments of a configuration, listens, and ends in order when it is asked to."""

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import structlog
import uvicorn
from structlog.typing import FilteringBoundLogger

from tpstream.model.errors import ServiceError
from tpstream.model.notes import as_fields, level
from tpstream.serve.access import Door, Hosts, Rate
from tpstream.serve.config import Experiment, ServiceConfig, is_loopback
from tpstream.serve.decider import Decider
from tpstream.serve.metrics import Metrics
from tpstream.serve.page import LogPage
from tpstream.serve.protocol import LimitedProtocol
from tpstream.serve.requests import Decide, Decision, Deliver
from tpstream.serve.served import Served
from tpstream.serve.service import Service
from tpstream.serve.tuning import allow_files, new_loop, short_collections, short_turns
from tpstream.serve.worker import Worker

BACKLOG = 2_048
"""Connections that may wait to be accepted."""
SPARE_FILES = 200
"""Files that are open besides connections."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server:
    """Serves the experiments of a configuration over HTTP until it is stopped.

    Parameters
    ----------
    config
        The configuration.

    Raises
    ------
    TpstreamError
        If the address cannot be listened at, or an experiment cannot be opened.
    """

    def __init__(self, config: ServiceConfig) -> None:
        self._config, self._keys = config, config.keys
        self._log = service_logger()
        self._service: Service | None = None
        self._uvicorn: uvicorn.Server | None = None
        self._stopped = threading.Event()
        self.socket = _listen(self._keys.host, self._keys.port)
        self.port: int = self.socket.getsockname()[1]

    @property
    def url(self) -> str:
        """The address of the service."""
        host = self.socket.getsockname()[0] if self._keys.host == "localhost" else self._keys.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Open the experiments, serve until `stop` is called, do all that waits, and close the logs.

        `started` is called when requests are answered.
        """
        with ExitStack() as stack:
            stack.callback(self.socket.close)
            deciders = {}
            for one in self._keys.experiments:
                deciders[one.name] = self._open(one)
                stack.callback(deciders[one.name].close)
            allow_files(self._keys.limits.connections + SPARE_FILES)
            with short_collections(), short_turns(), asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(self._serve(deciders, started))
        self._log.info("stopped")

    def stop(self) -> None:
        """Take no more requests, answer those that were taken, and end; it may be called from anywhere, also twice."""
        again = self._stopped.is_set()
        self._stopped.set()
        if self._service is not None:
            self._service.stop()
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
            self._uvicorn.force_exit = again

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM while this is entered, in the main thread."""

        def handle(number: int, _: FrameType | None) -> None:
            self._log.info("stopping", signal=signal.Signals(number).name)
            self.stop()

        before = {one: signal.signal(one, handle) for one in SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _open(self, experiment: Experiment) -> Decider:
        """The decider of an experiment, new or where it was."""
        _compile(experiment)
        decider = Decider.open(self._config.logs[experiment.name], **experiment.keywords)
        state = decider.state()
        self._log.info(
            "opened",
            experiment=experiment.name,
            policy=state["policy"],
            decisions=state["decisions"],
            log=str(decider.path),
        )
        for note in decider.recovery.notes:
            self._log.warning("the log was mended", experiment=experiment.name, reason=note)
        return decider

    async def _serve(self, deciders: dict[str, Decider], started: Callable[[], None]) -> None:
        limits = self._keys.limits
        served = [self._served(name, decider) for name, decider in deciders.items()]
        hosts = Hosts(self._keys.hosts, self.port, loopback=is_loopback(self._keys.host))
        self._service = Service(served, limits, hosts, self._log)
        config = uvicorn.Config(
            self._service.app(),
            http=LimitedProtocol.of(limits.seconds, limits.connections),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=int(limits.idle) or 1,
            timeout_graceful_shutdown=int(limits.seconds) or 1,
        )
        self._uvicorn = _Quiet(config, started)
        self._uvicorn.should_exit = self._stopped.is_set()
        with _uvicorn_notes(self._log):
            await self._uvicorn.serve(sockets=[self.socket])
        self._service.stop()
        for one in served:
            await one.worker.stop()

    def _served(self, name: str, decider: Decider) -> Served:
        log, limits, metrics = self._log.bind(experiment=name), self._keys.limits, Metrics()
        return Served(
            name,
            decider,
            Worker(name, decider, metrics, log, limits.waiting),
            Door(name, self._config.tokens[name]),
            Rate(limits.rate),
            metrics,
            LogPage(name, decider.path, log),
        )


class _Quiet(uvicorn.Server):
    """uvicorn's server, which leaves signals to us and says when it answers."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started_callback = started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured: uvicorn would send the signal once more at the end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        self._started_callback()


class _Forward(logging.Handler):
    """Hands what uvicorn says to our log."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write it as a message of ours."""
        failure = record.exc_info[1] if record.exc_info else None
        if failure is None:
            self._log.debug(record.getMessage().strip())
        else:
            self._log.error("a request failed", reason=f"{type(failure).__name__}: {failure}", exc_info=failure)


@contextmanager
def _uvicorn_notes(log: FilteringBoundLogger) -> Iterator[None]:
    """Take over what uvicorn says while this is entered."""
    theirs, handler = logging.getLogger("uvicorn.error"), _Forward(log)
    before = theirs.propagate
    theirs.addHandler(handler)
    theirs.propagate = False
    try:
        yield
    finally:
        theirs.removeHandler(handler)
        theirs.propagate = before


def service_logger() -> FilteringBoundLogger:
    """The log of a service: a line for each message on standard error, with its time and named fields."""
    logger: FilteringBoundLogger = structlog.get_logger("tpstream")
    if not structlog.is_configured():
        logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                as_fields,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(level()),
        )
    return logger.bind(service="tpstream")


def _compile(experiment: Experiment) -> None:
    """Decide in a log that is thrown away, so that all that is compiled is there before the first request."""
    given: dict[str, Any] = {**experiment.keywords, "snapshot_every": None}
    with TemporaryDirectory() as folder, Decider.open(f"{folder}/log", **given) as decider:
        for number in range(1, 3):
            at = float(number) if decider.header.decider and decider.header.decider.clock == "caller" else None
            [decision] = decider.handle([Decide(key=f"decision-{number}", at=at)])
            if isinstance(decision, Decision):
                decider.handle([Deliver(token=decision.token, amount=0.0, key=f"payment-{number}", at=at)])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is bound to the address."""
    with ExitStack() as stack:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            found = stack.enter_context(socket.socket(family, kind, protocol))
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServiceError(
                f"{host}:{port}: cannot be listened at: {reason}; choose another host or port"
            ) from error
        stack.pop_all()
    return found
