"""Decisions and deliveries that a service acknowledges per second, all of them on the disk, beside what bounds it.

Usage: python benchmarks/serve.py [SECONDS] [CONNECTIONS] [FOLDER]. A service runs in a process of its own, with its log
in the folder (by default this one), and is asked over the loopback address by this process: every connection decides,
delivers what the decision paid, and so on. In turns with it, the same client asks an application of bare uvicorn that
does nothing, and records of the same length are written and flushed (fdatasync) one by one.

A decision pays for half a second, so that parts end, the policy learns and decisions are closed all the time; snapshots
are taken in between.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import uvloop

from tpstream.serve.config import ServiceConfig

SECONDS, CONNECTIONS = 5.0, 64
PROGRAM = str(Path(sys.executable).with_name("tpstream"))
PRIORITY = -15
WARM = 0.5
"""Seconds for which a server is asked before it is measured."""
PAIRS = 3
"""How often everything is measured; the best is told."""
RECORD = 300
"""Bytes that are flushed one by one."""
CONFIG = """
port = 0
[limits]
rate = 1000000
[[experiments]]
name = "shop"
policy = "group-thompson:groups=2"
arms = ["A", "B", "C", "D"]
span = 10
window = 10
unit = 0.05
groups = 2
maxima = [1.0, 1.0, 1.0, 1.0]
snapshot_every = 20000
"""
BARE = """
import sys, uvicorn
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("listening at http://127.0.0.1:%d" % self.servers[0].sockets[0].getsockname()[1], flush=True)
quiet = {"log_config": None, "access_log": False, "lifespan": "off", "ws": "none"}
config = uvicorn.Config(app, port=0, http="httptools", loop="uvloop", **quiet)
Server(config).run()
"""


class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it is answered; notes how long every answer took."""

    def __init__(self, number: int, end: float, seconds: list[float]) -> None:
        self.number, self.end, self.seconds = number, end, seconds
        self.done = asyncio.get_running_loop().create_future()
        self.count, self.token, self.unread = 0, b"", b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Decide, or deliver what the last decision paid."""
        self.count += 1
        key = b"%d-%d" % (self.number, self.count)
        if self.token:
            path, body = b"deliver", b'{"token":"%s","amount":0.25,"key":"%s"}' % (self.token, key)
        else:
            path, body = b"decide", b'{"key":"%s"}' % key
        head = (
            b"POST /%s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        )
        self.began = time.perf_counter()
        self.transport.write(head % (path, self.transport.get_extra_info("peername")[1], len(body)) + body)

    def data_received(self, data: bytes) -> None:
        """Take an answer, which comes in few pieces."""
        self.unread += data
        head, found, body = self.unread.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self.seconds.append(time.perf_counter() - self.began)
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(self.unread.decode()))
            return
        self.unread = b""
        self.token = body.partition(b'"token":"')[2].partition(b'"')[0] if not self.token else b""
        if time.perf_counter() < self.end:
            self.ask()
        else:
            self.transport.close()
            self.done.set_result(None)


async def load(port: int, seconds: float, connections: int) -> list[float]:
    """Ask for so many seconds over so many connections; the seconds that every answer took."""
    found: list[float] = []
    end, loop = time.perf_counter() + seconds, asyncio.get_running_loop()
    callers = []
    for number in range(connections):
        run = os.getpid() * 1_000_000 + time.monotonic_ns() // 1000 % 1_000_000
        _, caller = await loop.create_connection(
            lambda number=number, run=run: Caller(run + number, end, found), "127.0.0.1", port
        )
        callers.append(caller)
    await asyncio.gather(*(caller.done for caller in callers))
    return found


def prefer(process: int) -> None:
    """Let a process be served before the others of this machine, as far as we may."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), PRIORITY)


@contextmanager
def process(*words: str) -> Iterator[int]:
    """A server in a process of its own, and its port."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as started:
        try:
            assert started.stdout is not None  # noqa: S101 (it is a pipe)
            port = int(started.stdout.readline().rpartition(":")[2])
            prefer(started.pid)
            yield port
        finally:
            started.terminate()


def measure(port: int, seconds: float, connections: int) -> tuple[float, float, float]:
    """Answers per second, and the median and the 99th percentile of what they took, in milliseconds."""
    uvloop.run(load(port, WARM, connections))
    took = np.array(uvloop.run(load(port, seconds, connections)))
    middle, high = np.percentile(took, [50, 99]) * 1000
    return len(took) / seconds, float(middle), float(high)


def flushes(folder: Path, seconds: float) -> tuple[float, float, float]:
    """The same for records that are written and flushed one by one."""
    took, end = [], time.perf_counter() + seconds
    with (folder / "flushed").open("wb", buffering=0) as file:
        while time.perf_counter() < end:
            began = time.perf_counter()
            file.write(b"x" * RECORD)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    middle, high = np.percentile(took, [50, 99]) * 1000
    return len(took) / seconds, float(middle), float(high)


def main() -> None:
    """Run everything, and print."""
    prefer(os.getpid())
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    connections = int(sys.argv[2]) if len(sys.argv) > 2 else CONNECTIONS
    place = sys.argv[3] if len(sys.argv) > 3 else "."
    with tempfile.TemporaryDirectory(dir=place) as made:
        folder = Path(made)
        config = folder / "shop.toml"
        config.write_text(CONFIG)
        ServiceConfig.load(config)
        with process(PROGRAM, "serve", str(config)) as port, process(sys.executable, "-c", BARE) as bare:
            turns: dict[str, Callable[[], tuple[float, float, float]]] = {
                "service, decided and delivered, on the disk": lambda: measure(port, seconds, connections),
                "bare uvicorn, nothing done": lambda: measure(bare, seconds, connections),
                "written and flushed one by one": lambda: flushes(folder, seconds),
            }
            found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in turns}
            for _ in range(PAIRS):
                for name, turn in turns.items():
                    found[name].append(turn())
    for name, results in found.items():
        rate, middle, high = max(results)
        print(f"{name}: {rate:,.0f} per second, p50 {middle:.2f} ms, p99 {high:.2f} ms")


if __name__ == "__main__":
    main()
