"""Services on the loopback address for tests: in a thread, or as a process that can be killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mutations import toml_text

from tpstream import Scenario
from tpstream.serve.config import ServiceConfig
from tpstream.serve.server import Server

TOKEN = "a-token-for-tests-0123456789"  # noqa: S105 (it opens nothing but tests)
SHOP: dict[str, Any] = {
    "name": "shop",
    "policy": "uniform",
    "arms": ["old", "new"],
    "span": 3,
    "clock": "caller",
    "silence": "wait",
}
"""An experiment of which nothing need be compiled for long."""
PROGRAM = str(Path(sys.executable).with_name("tpstream"))


@contextmanager
def serving(folder: Path, *experiments: Mapping[str, Any], **keys: Any) -> Iterator[Server]:
    """A service of these experiments in a thread; it is stopped in order at the end."""
    given = {"port": 0, "experiments": [dict(one) for one in experiments or (SHOP,)], **keys}
    server, started, failures = Server(ServiceConfig.parse(given, folder)), threading.Event(), []

    def run() -> None:
        try:
            server.run(started.set)
        except BaseException as error:  # noqa: BLE001 (it is raised in the test)
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        if not failures:
            yield server
    finally:
        server.stop()
        thread.join()
        if failures:
            raise failures[0]


@contextmanager
def served_process(
    folder: Path, *experiments: Mapping[str, Any], **keys: Any
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command `tpstream serve` in a process of its own, and its address; it is killed if it is still there."""
    given = {"port": 0, "experiments": [dict(one) for one in experiments or (SHOP,)], **keys}
    config = folder / "service.toml"
    config.write_text(toml_text(given))
    root = str(Path(__file__).parents[2])
    with (folder / "service.log").open("a") as log:
        process = subprocess.Popen(
            [PROGRAM, "serve", str(config)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening at "), (folder / "service.log").read_text()
        yield process, line.split()[-1]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


def experiment_of(scenario: Scenario, policy: str, **more: Any) -> dict[str, Any]:
    """The experiment whose policy is told what it is told in that scenario."""
    problem = scenario.problem()
    window = {} if scenario.window is None else {"window": float(scenario.window)}
    return {
        "name": policy.replace(":", "-").replace("=", "-").replace(",", "-"),
        "policy": policy,
        "arms": list(problem.names),
        "span": problem.span,
        "groups": problem.groups,
        "maxima": problem.maxima.tolist(),
        "horizon": problem.horizon,
        "seed": scenario.seed,
        "clock": "caller",
        "silence": "wait",
        **window,
        **more,
    }
