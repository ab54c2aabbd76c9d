"""Who does the work changes nothing: one thread, several, processes, or Dask workers, one of which dies."""

import _thread
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import moody
import pytest
from clusters import Cluster, start_cluster
from plugged import forgetful
from studies import TOML, finish, kept_runs, small, start_python

from tpstream import Scenario, compare, load_plugin
from tpstream.experiment import compare as compare_module, executors, processes
from tpstream.experiment.executors import FinishedChunk, dask_executor
from tpstream.experiment.sending import Obstacle
from tpstream.experiment.store import RunResult, Store
from tpstream.model.errors import StudyError
from tpstream.model.notes import NOTES

__all__ = ["forgetful"]

RESULTS = ("results.parquet", "results.csv", "table.csv", "contrasts.csv", "curves.csv", "pulls.csv")
POLICIES = ("ucb1", "tp-ucb-fr", "uniform")


def world() -> Scenario:
    """Twelve runs of it are several pieces."""
    return small(horizon=3000)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The result files, which hold no times."""
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The result files of one job."""
    folder = tmp_path_factory.mktemp("alone")
    compare(world(), POLICIES, runs=12, jobs=1, folder=folder)
    return bytes_of(folder)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two Dask workers."""
    pytest.importorskip("distributed")
    with start_cluster(tmp_path_factory.mktemp("cluster"), workers=2) as running:
        yield running


def test_threads(alone: dict[str, bytes], tmp_path: Path) -> None:
    """Two jobs write the same result files as one, to the last byte."""
    compare(world(), POLICIES, runs=12, jobs=2, folder=tmp_path)
    assert bytes_of(tmp_path) == alone


def test_any_executor(alone: dict[str, bytes], tmp_path: Path) -> None:
    """An executor that a user brings is used, and left open."""
    with ThreadPoolExecutor(3) as mine:
        compare(world(), POLICIES, runs=12, folder=tmp_path, executor=mine)
        assert mine.submit(int, "7").result() == 7
    assert bytes_of(tmp_path) == alone


@pytest.mark.slow
def test_processes(alone: dict[str, bytes], tmp_path: Path) -> None:
    """Processes write the same result files; a user's policy is sent there, a progress need not be fit for it."""
    told: list[int] = []
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        compare(world(), POLICIES, runs=12, folder=tmp_path, executor=processes)
        found = compare(
            small(), [moody.POLICY], runs=4, executor=processes, progress=lambda rounds: told.extend([rounds])
        )
    assert bytes_of(tmp_path) == alone
    assert found.records["moody"].runs.tolist() == [run for run in range(4) if not moody.fails(3, run)]
    assert sum(told) == 4 * 60


@pytest.mark.slow
def test_processes_where_they_are_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work is shared by processes, short work is not; the result is the same."""
    started: list[int] = []
    pool = processes.OwnPool

    class Counted(pool):  # type: ignore[misc, valid-type]
        def __init__(self, workers: int, *rest: object, **named: object) -> None:
            started.append(workers)
            super().__init__(workers, *rest, **named)

    monkeypatch.setattr(processes, "OwnPool", Counted)
    for engine in ("compiled", "simpy"):
        compare(small(), ["uniform"], runs=6, jobs=2, engine=engine, folder=tmp_path / engine)
    assert started == []
    monkeypatch.setattr(executors, "WORTH", 0.0)
    compare(small(), ["uniform"], runs=6, jobs=2, engine="simpy", folder=tmp_path / "there")
    assert started == [2]
    assert bytes_of(tmp_path / "compiled") == bytes_of(tmp_path / "simpy") == bytes_of(tmp_path / "there")


@pytest.mark.slow
def test_dask(alone: dict[str, bytes], tmp_path: Path, cluster: Cluster) -> None:
    """Two Dask workers write the same result files; then one is killed in the middle of a study, and so again."""
    with dask_executor(cluster.address) as dask:
        compare(world(), POLICIES, runs=12, folder=tmp_path / "two", executor=dask)
        assert bytes_of(tmp_path / "two") == alone
        told: list[int] = []

        def kill_one(rounds: int) -> None:
            told.append(rounds)
            if len(told) == 1:
                cluster.workers[0].send_signal(signal.SIGKILL)

        compare(world(), POLICIES, runs=12, folder=tmp_path / "one", executor=dask, progress=kill_one)
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert cluster.workers[1].poll() is None
    assert len(told) > 2
    assert sum(told) == 12 * 3 * 3000
    assert bytes_of(tmp_path / "one") == alone


@pytest.mark.slow
def test_dask_on_the_command_line(alone: dict[str, bytes], tmp_path: Path, cluster: Cluster) -> None:
    """`compare --dask ADDRESS` writes the same result files, and it is the cluster that does the work."""
    (tmp_path / "small.toml").write_text(TOML.replace("horizon = 60", "horizon = 3000"))
    code = "from tpstream.cli.app import main; main()"
    policies = [word for policy in POLICIES for word in ("--policy", policy)]
    words = ("compare", tmp_path / "small.toml", *policies, "--runs", 12, "--quiet", "--out", tmp_path / "out")
    before = steps_of_tasks(cluster)
    finish(start_python(code, *words, "--dask", cluster.address))
    assert bytes_of(tmp_path / "out") == alone
    assert steps_of_tasks(cluster) > before


def steps_of_tasks(cluster: Cluster) -> int:
    """How many steps the scheduler has led tasks through so far."""
    from distributed import Client  # noqa: PLC0415 (an extra)

    with Client(cluster.address) as client:
        return int(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter))


@pytest.mark.slow
def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address at which nobody answers is an error that names it and the remedy."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(StudyError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 .*`dask scheduler`"),
        dask_executor("tcp://127.0.0.1:9"),
    ):
        pass


class Lossy(Executor):
    """An executor that answers every call with the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def submit(self, *_: object, **__: object) -> "Future[FinishedChunk]":  # type: ignore[override]
        """A future with the error."""
        future: Future[FinishedChunk] = Future()
        future.set_exception(self._error)
        return future


def test_lost_workers_end_the_study() -> None:
    """If all workers are lost the study ends with an error that says how to go on."""
    with pytest.raises(StudyError, match=r"the workers were lost \(BrokenExecutor: gone\); .* repeat the command"):
        compare(small(), ["uniform"], runs=2, executor=Lossy(executors.futures.BrokenExecutor("gone")))


def test_a_piece_that_no_worker_survives() -> None:
    """What an executor gives up for another reason is a failure of those runs."""
    with pytest.raises(StudyError, match=r"uniform failed in run 0 with seed 3: RuntimeError: killed 4 workers"):
        compare(small(), ["uniform"], runs=2, executor=Lossy(RuntimeError("killed 4 workers")))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, also in a process that was started in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_does_not_wait_for_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads notice within a stretch of rounds that they were interrupted, not at the end of their run."""
    told: list[int] = []
    calls = count()

    def interrupt(rounds: int) -> None:
        told.append(rounds)
        if next(calls) == 5:
            _thread.interrupt_main()

    monkeypatch.setattr(compare_module, "processes_obstacle", lambda *_: Obstacle("it is Monday", "wait"))
    with pytest.raises(KeyboardInterrupt):
        compare(small(horizon=40_000_000, drain=False), ["uniform"], runs=2, jobs=2, progress=interrupt)
    assert sum(told) < 40_000_000


def test_an_interrupted_study_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption no thread goes on, and the finished runs are kept."""
    before, keep, kept = set(threading.enumerate()), Store.keep, list[RunResult]()

    def keep_and_interrupt(store: Store, outcomes: list[RunResult]) -> None:
        keep(store, outcomes)
        kept.extend(outcomes)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "keep", keep_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        compare(small(horizon=200_000, drain=False), ["ucb1"], runs=50, jobs=2, folder=tmp_path)
    assert set(threading.enumerate()) <= before
    assert 0 < kept_runs(tmp_path) == len(kept) < 50


def test_one_core_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A program whose work cannot be shared is told so, why, and what to do, and gets its result.

    It is not told if the work is too short to be shared anyway, or if notes are turned off.
    """
    told = 'event="only one core is used" reason="it is Monday" remedy=wait'
    monkeypatch.setattr(compare_module, "processes_obstacle", lambda *_: Obstacle("it is Monday", "wait"))
    for worth, notes in ((5.0, "1"), (0.0, "1"), (0.0, "0")):
        monkeypatch.setattr(executors, "WORTH", worth)
        monkeypatch.setenv(NOTES, notes)
        for engine in ("simpy", "compiled"):
            assert len(compare(small(), ["uniform"], runs=4, jobs=2, engine=engine).records["uniform"]) == 4
            assert (told in capsys.readouterr().err) == ((worth, notes) == (0.0, "1"))


CRASHING = """
import os, signal
from multiprocessing import parent_process
from tpstream.policies.base import Parameters, PythonPolicy

def create(problem, parameters, stream):
    if parent_process() is not None or "TEST_CRASH" in os.environ:
        os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("not in this process")

PLUGINS = {"policies": {"crashing": PythonPolicy("crashing", Parameters, create)}}
"""


@pytest.mark.usefixtures("forgetful")
def test_a_worker_that_crashes(tmp_path: Path) -> None:
    """A segmentation fault in a worker is told as what it probably is, with the remedy."""
    (tmp_path / "crashing.py").write_text(CRASHING)
    load_plugin(tmp_path / "crashing.py")
    told = r"workers were lost \(one ended with SIGSEGV, .*\); a compiled policy may have used an index out of bounds"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool, pytest.raises(StudyError, match=told):
        compare(small(), ["crashing"], runs=4, executor=pool)


@pytest.mark.slow
def test_a_command_that_crashes(tmp_path: Path) -> None:
    """A segmentation fault in the process of the command is told of."""
    (tmp_path / "crashing.py").write_text(CRASHING)
    code = "from tpstream.cli.app import main; main()"
    words = ("run", "setting-1", "--plugin", tmp_path / "crashing.py", "--policy", "crashing")
    process = start_python(code, *words, TEST_CRASH="1")
    _, told = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGSEGV
    assert told.startswith("Fatal Python error: Segmentation fault\n")


def test_an_interruption_waits_while_workers_start() -> None:
    """A worker whose parent is interrupted before it was told what it is would end with a traceback."""
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    try:
        with processes.interruptions_held():
            signal.raise_signal(signal.SIGTERM)
            assert told == []
        assert told == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is not before
    finally:
        signal.signal(signal.SIGTERM, before)
