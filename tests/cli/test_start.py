"""An interruption (Ctrl-C) ends a command with one line and exit code 130, wherever it comes, and at the first time."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest
import simpy
from studies import TOML

from tpstream.cli import app
from tpstream.cli.start import Interruption, Interruptions, main

MAIN = "from tpstream.cli.start import main; main()"
TRIES = 50


@pytest.fixture(autouse=True)
def _usual() -> Iterator[None]:
    """Interruptions are not ignored, as they are for jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    """Interrupt this process."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)


def in_a_callback() -> None:
    """Python cannot raise what a function raises that compiled code calls."""
    ctypes.CFUNCTYPE(None)(interrupt)()


def dropped() -> None:
    """A library that drops whatever is raised."""
    with suppress(BaseException):
        interrupt()


def hidden() -> None:
    """Python turns what is raised while a class is made into another error, which this library drops."""

    class Attribute:
        def __set_name__(self, owner: type, name: str) -> None:
            interrupt()

    with suppress(RuntimeError):
        type("Owner", (), {"attribute": Attribute()})


@pytest.mark.parametrize("lose", [in_a_callback, dropped, hidden])
def test_an_interruption_that_gets_lost_is_sent_again(
    lose: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """What the program does next is interrupted, soon and once, and nothing is printed about the first one."""
    with Interruptions() as interruptions:
        lose()
        with pytest.raises(KeyboardInterrupt) as caught:
            time.sleep(2)
        time.sleep(0.1)  # as long as it is referred to, no further one comes
        assert interruptions.came
        interruptions.over = True
    del caught
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert "ignored" not in capfd.readouterr().err


def test_an_interruption_where_compiled_code_calls_python() -> None:
    """What is raised there is lost without being deleted; so nothing is raised, and the interruption comes again."""

    def _numba_unpickle() -> str:
        signal.raise_signal(signal.SIGINT)
        return "not interrupted"

    with Interruptions() as interruptions:
        assert _numba_unpickle() == "not interrupted"
        with pytest.raises(Interruption):
            time.sleep(5)
        interruptions.over = True


def test_a_copy_of_an_interruption() -> None:
    """SimPy raises a copy of what a process raises, made of its type and its arguments: an interruption, too."""
    environment = simpy.Environment()

    def process() -> Iterator[simpy.Event]:
        yield environment.timeout(1)
        interrupt()

    with Interruptions() as interruptions:
        environment.process(process())
        with pytest.raises(Interruption) as caught:
            environment.run()
        interruptions.over = True
    assert caught.value.args == (interruptions,)
    Interruption.__new__(Interruption).__del__()  # an unfinished one tells nobody


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_became_of_an_interruption(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that ends by an error after an interruption was interrupted; without one, the error is raised."""

    def command() -> int:
        with suppress(KeyboardInterrupt):
            interrupt()
        raise error

    monkeypatch.setattr(app, "run_command", command)
    with pytest.raises(SystemExit, match="130"):
        main()
    assert capsys.readouterr().err == "tpstream: interrupted\n"
    monkeypatch.setattr(app, "run_command", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.verify
def test_whenever_it_comes(tmp_path: Path) -> None:
    """At any moment of the first two seconds, while modules, settings and compiled code are loaded."""
    (tmp_path / "small.toml").write_text(TOML.replace("horizon = 60", "horizon = 400000000"))
    words = [sys.executable, "-c", MAIN, "run", "small.toml", "-p", "ucb1", "--live"]
    for moment in np.random.default_rng(15).uniform(0.15, 2.0, TRIES):  # Python itself takes a tenth to start
        with subprocess.Popen(words, cwd=tmp_path, text=True, stdout=PIPE, stderr=PIPE) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            try:
                out, err = process.communicate(timeout=5)
            finally:
                process.kill()
        assert (process.returncode, out) == (130, "")
        assert "Traceback" not in err
        assert err.endswith("tpstream: interrupted\n")


def children(process: int) -> list[int]:
    """The processes that this one started and that have not ended."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's list of processes")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_worker_stays_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Whatever ends a study, its workers end with it: a request to end is told in a line, a kill cannot be."""
    (tmp_path / "small.toml").write_text(TOML.replace("horizon = 60", "horizon = 3000000"))
    words = [sys.executable, "-c", MAIN, "compare", "small.toml", "-p", "ucb1", "-n", "5000", "-j", "2", "--quiet"]
    with subprocess.Popen(words, cwd=tmp_path, text=True, stdout=PIPE, stderr=PIPE) as process:
        until = time.monotonic() + 60
        while len(workers := children(process.pid)) < 3 and time.monotonic() < until:  # and one that tracks memory
            time.sleep(0.05)
        assert len(workers) == 3
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
    assert process.returncode == code
    until = time.monotonic() + 5
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
    if number == signal.SIGTERM:
        assert err == "tpstream: interrupted by SIGTERM\n"
