"""How fast and how small the formats of a log are, measured against plain ways to write the same events.

The events are those of Setting 1: canonical order, real uniform rewards, an arm for every round. Each way works in a
process of its own, which also tells its peak memory, and is handed the events in stretches of 100,000, as arrays; the
time to make them is not counted. The slow ways get fewer events.

Then whole runs, from scenario to file: Setting 1 under TP-UCB-FR as in the paper, with geometric delays, and with
delays that are no whole rounds. The run and the thread that writes its log share the work, so with a free second core a
run takes as long as the busier one of them: `events/s` is by the clock, with priority over other programs
(measuring.py), `of the busier thread` by its processor time. The floor is pyarrow alone, which writes the same
columns of the same log from memory to a file, compressed in the same way.

The last lines compare with the aims of the design.

    python benchmarks/log_throughput.py [--events 10000000] [--turns 1]
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import structlog
from measuring import undisturbed

from tpstream import Scenario, simulate
from tpstream.analysis.regret import regret_by_round
from tpstream.log.reader import frame, read_log
from tpstream.log.schema import Header
from tpstream.log.writer import LogWriter
from tpstream.model.events import Events, Kind
from tpstream.run.loop import make_header

SETTING = Path(__file__).parents[1] / "scenarios" / "paper" / "setting-1.toml"
SPAN, GROUPS, ARMS = 100, 20, 10
NUMBERS = ("seq", "time", "round", "pull", "arm", "part", "value")
ROUNDS_PER_BATCH = 1000
"""Rounds that are made at a time."""
MOST, TURNS = 5_000_000, 5
"""Events of a run from scenario to file, which then takes less than a second, and how often it is repeated."""
BYTES_BEFORE = 1.79
"""Bytes per event of the paper's world before logs were written by a thread; they were to be no more afterwards."""
SHARES = {"json": 10, "structlog": 40}
"""The slow ways get only this part of the events."""


def setting_1(events: int) -> tuple[Header, Iterator[Events]]:
    """The header and the events, at least so many, of a run of Setting 1 whose policy mostly found the best arm."""
    rounds = -(-events // (SPAN + 2)) + SPAN // 2
    scenario = Scenario.load(SETTING).with_(horizon=rounds)
    return make_header(scenario, scenario.policy("tp-ucb-fr"), 1, 0), _stretches(rounds)


def _stretches(rounds: int) -> Iterator[Events]:
    random = np.random.default_rng(1)
    arms = np.where(random.random(rounds) < 0.8, ARMS - 1, random.integers(0, ARMS, rounds))
    scale = 100.0 * (arms + 1) / GROUPS / (SPAN // GROUPS)
    groups = random.random((rounds, GROUPS)) * scale[:, None]
    parts = np.array([0, SPAN, 0, *range(SPAN - 1, 0, -1)])  # the pull, the last part of the oldest and its end, ...
    kinds = np.array([Kind.PULL, Kind.PARTIAL, Kind.CLOSED, *[Kind.PARTIAL] * (SPAN - 1)], dtype=np.int8)
    ages = np.array([0, SPAN - 1, SPAN - 1, *range(SPAN - 2, -1, -1)])
    seq = 0
    for first in range(1, rounds + 1, ROUNDS_PER_BATCH):
        round = np.arange(first, min(first + ROUNDS_PER_BATCH, rounds + 1))[:, None]
        there = round - ages > 0
        pull = (round - ages)[there]
        kind, part, rounds_of = (np.broadcast_to(row, there.shape)[there] for row in (kinds, parts, round))
        value = groups[pull - 1, (np.maximum(part, 1) - 1) // (SPAN // GROUPS)]
        value[kind == Kind.PULL] = np.nan
        closed = groups[pull[kind == Kind.CLOSED] - 1]
        value[kind == Kind.CLOSED] = np.cumsum(np.repeat(closed, SPAN // GROUPS, axis=1), axis=1)[:, -1]
        numbers = np.arange(seq, seq + len(pull))
        seq += len(pull)
        yield Events(numbers, rounds_of.astype(float), kind, rounds_of, pull, arms[pull - 1], part, value)


class Clock:
    """Adds up the time of what is done under it."""

    def __init__(self) -> None:
        self.seconds = self.processor = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._began[0]
        self.processor += time.process_time() - self._began[1]


def write_ours(path: Path, header: Header, stretches: Iterator[Events], clock: Clock) -> int:
    """Our own writer, in the format of the suffix."""
    count = 0
    with clock:
        writer = LogWriter(path, header)
    for events in stretches:
        with clock:
            writer.hear(events)
        count += len(events)
    with clock, writer:
        pass
    return count


def write_json(path: Path, _: Header, stretches: Iterator[Events], clock: Clock) -> int:
    """The json module, a line for each event."""
    count = 0
    with path.open("w") as file:
        for events in stretches:
            with clock:
                for event in events:
                    file.write(json.dumps({name: getattr(event, name) for name in ("kind", *NUMBERS)}) + "\n")
            count += len(events)
    return count


def write_structlog(path: Path, _: Header, stretches: Iterator[Events], clock: Clock) -> int:
    """A plain structlog chain with the JSON renderer, a call for each event."""
    count = 0
    with path.open("w") as file:
        chain = [structlog.processors.add_log_level, structlog.processors.JSONRenderer()]
        logger = structlog.wrap_logger(structlog.WriteLogger(file), processors=chain)
        for events in stretches:
            with clock:
                for event in events:
                    logger.info(event.kind, **{name: getattr(event, name) for name in NUMBERS})
            count += len(events)
    return count


def write_pandas(path: Path, _: Header, stretches: Iterator[Events], clock: Clock) -> int:
    """One table of everything, written at once."""
    table = frame(Events.join(list(stretches)).columns())
    with clock:
        table.to_parquet(path)
    return len(table)


def read_ours(path: Path, clock: Clock) -> int:
    """All columns, piece by piece."""
    with clock:
        return sum(len(batch) for batch in read_log(path).batches())


def read_json(path: Path, clock: Clock) -> int:
    """The json module, line by line."""
    with clock, path.open() as file:
        return sum(1 for line in file if json.loads(line))


def read_pandas(path: Path, clock: Clock) -> int:
    """The whole table."""
    with clock:
        return len(pd.read_parquet(path))


def read_regret(path: Path, clock: Clock) -> int:
    """The pseudo-regret of every round; counts the events of the log."""
    with clock:
        log = read_log(path)
        arms = log.columns(["arm"], [Kind.PULL])["arm"]
        regret_by_round(arms, np.array(log.header.means))
    return log.reader.end or 0


WRITERS: dict[str, tuple[str, Callable[[Path, Header, Iterator[Events], Clock], int]]] = {
    "arrow": ("log.arrow", write_ours),
    "jsonl": ("log.jsonl", write_ours),
    "pandas": ("log.parquet", write_pandas),
    "json": ("json.txt", write_json),
    "structlog": ("structlog.txt", write_structlog),
}
READERS: dict[str, tuple[str, Callable[[Path, Clock], int]]] = {
    "arrow": ("log.arrow", read_ours),
    "jsonl": ("log.jsonl", read_ours),
    "pandas": ("log.parquet", read_pandas),
    "json": ("json.txt", read_json),
    "regret": ("log.arrow", read_regret),
    "regret of jsonl": ("log.jsonl", read_regret),
}
TITLES = {
    "arrow": "Arrow stream",
    "jsonl": "JSON lines",
    "pandas": "pandas to_parquet, at once",
    "json": "json.dumps, a line each",
    "structlog": "structlog JSONRenderer chain",
}


RUNS: dict[str, dict[str, Any]] = {
    "paper": {},
    "delays": {"delays": [{"kind": "geometric", "p": 0.3}]},
    "real-valued delays": {"delays": [{"kind": "lognormal", "median": 3.0, "sigma": 0.5}]},
}
"""What is different from Setting 1 in the runs from scenario to file."""


def run_to_file(way: str, folder: Path, events: int) -> dict[str, float]:
    """Measure a whole run with a log of every event, and the floor for its log; the best of several each."""
    path = folder / f"{way}.arrow"
    scenario = Scenario.load(SETTING).with_(horizon=min(events, MOST) // (SPAN + 2), **RUNS[way])
    simulate(scenario.with_(horizon=2000), "tp-ucb-fr", log=path, force=True)  # compile first
    best = {"busier": math.inf, "seconds": math.inf, "floor": math.inf}
    for _ in range(TURNS):
        with undisturbed():
            began = time.perf_counter(), time.thread_time(), time.process_time()
            simulate(scenario, "tp-ucb-fr", log=path, force=True)
            ended = time.perf_counter(), time.thread_time(), time.process_time()
        seconds, own, both = (end - begin for begin, end in zip(began, ended, strict=True))
        best["seconds"] = min(best["seconds"], seconds)
        if max(own, both - own) < best["busier"]:
            best |= {"busier": max(own, both - own), "run": own, "writer": both - own}
    batches = list(pa.ipc.open_stream(path.read_bytes()))
    codec = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1), use_threads=False)
    for _ in range(TURNS):
        processor = time.process_time()
        with pa.ipc.new_stream(folder / "floor.arrow", batches[0].schema, options=codec) as stream:
            for batch in batches:
                stream.write_batch(batch)
        best["floor"] = min(best["floor"], time.process_time() - processor)
    count = read_log(path).reader.end or 0
    return best | {"events": count, "bytes": path.stat().st_size / count}


def report_runs(found: dict[str, dict[str, float]]) -> None:
    """Print the whole runs; ns are of processor time, for each event."""
    titles = f"{'events/s':>10} {'of the busier thread':>21} {'run, ns':>8} {'writer, ns':>11} {'floor, ns':>10}"
    print(f"\n{'from scenario to file; million':30} {titles} {'writer/floor':>13} {'bytes/event':>12}")
    for way, one in found.items():
        ns = {name: one[name] / one["events"] * 1e9 for name in ("run", "writer", "floor")}
        numbers = f"{rate(one):10.1f} {rate(one, 'busier'):21.1f} {ns['run']:8.1f} {ns['writer']:11.1f}"
        print(f"{way:30} {numbers} {ns['floor']:10.1f} {ns['writer'] / ns['floor']:13.2f} {one['bytes']:12.2f}")


def work(what: str, way: str, folder: Path, events: int) -> dict[str, float]:
    """Do one thing in this process and measure it."""
    clock = Clock()
    if what == "run":
        return run_to_file(way, folder, events)
    if what == "write":
        name, write = WRITERS[way]
        header, stretches = setting_1(events // SHARES.get(way, 1))
        (folder / name).unlink(missing_ok=True)
        count = write(folder / name, header, stretches, clock)
    else:
        name, read = READERS[way]
        count = read(folder / name, clock)
    return {
        "events": count,
        "seconds": clock.seconds,
        "processor": clock.processor,
        "bytes": (folder / name).stat().st_size / count,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure(what: str, way: str, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """The fastest of several turns, each in a process of its own."""
    command = [sys.executable, __file__, "--events", str(arguments.events), "--work", what, way, str(folder)]
    turns = [subprocess.run(command, check=True, capture_output=True) for _ in range(arguments.turns)]
    return min((json.loads(turn.stdout) for turn in turns), key=lambda turn: turn["seconds"])


def report(arguments: argparse.Namespace) -> None:
    """Measure everything and print it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = {way: measure("write", way, folder, arguments) for way in WRITERS}
        read = {way: measure("read", way, folder, arguments) for way in READERS}
        runs = {way: measure("run", way, folder, arguments) for way in RUNS}
    titles = f"{'events':>12} {'written':>9} {'MB':>6} {'read':>9} {'MB':>6} {'bytes/event':>12}"
    print(f"{'million events/s; peak MB':30} {titles}")
    for way, title in TITLES.items():
        there = f"{rate(read[way]):9.2f} {read[way]['megabytes']:6.0f}" if way in read else f"{'':16}"
        line = written[way]
        numbers = f"{line['events']:12,.0f} {rate(line):9.2f} {line['megabytes']:6.0f} {there} {line['bytes']:12.2f}"
        print(f"{title:30} {numbers}")
    report_runs(runs)
    regret, slow = read["regret"], read["regret of jsonl"]
    print(f"\npseudo-regret of {regret['events']:,.0f} events: {regret['seconds']:.2f} s, {regret['megabytes']:.0f} MB")
    print(f"the same from JSON lines: {slow['seconds']:.2f} s, {slow['megabytes']:.0f} MB")
    judge("Arrow stream, bytes per event", written["arrow"]["bytes"], 8, least=False)
    judge("Arrow stream, million events/s written", rate(written["arrow"]), 20)
    judge("the same per second of processor time", rate(written["arrow"], "processor"), 20)
    judge("from scenario to file, the paper's world, million/s", rate(runs["paper"]), 30)
    judge("from scenario to file, with delays, million/s", rate(runs["delays"]), 20)
    judge("the same with real-valued delays, million/s", rate(runs["real-valued delays"]), 20)
    judge("the paper's world, bytes per event", runs["paper"]["bytes"], BYTES_BEFORE, least=False)
    judge("Arrow stream against to_parquet, events/s written", rate(written["arrow"]) / rate(written["pandas"]), 1)
    judge("JSON lines against the structlog chain, events/s", rate(written["jsonl"]) / rate(written["structlog"]), 10)
    judge("JSON lines against json.dumps, events/s", rate(written["jsonl"]) / rate(written["json"]), 1)
    judge("pseudo-regret, seconds", regret["seconds"], 1, least=False)
    judge("pseudo-regret, peak MB", regret["megabytes"], 300, least=False)


def rate(measured: dict[str, float], clock: str = "seconds") -> float:
    """Million events per second."""
    return measured["events"] / measured[clock] / 1e6


def judge(what: str, number: float, aim: float, *, least: bool = True) -> None:
    """Print a figure beside its aim."""
    met = number >= aim if least else number <= aim
    print(f"{what:52} {number:8.2f}  (aim: at {'least' if least else 'most'} {aim}{'' if met else ', MISSED'})")


def main() -> None:
    """Measure, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        what, way, folder = arguments.work
        sys.stdout.write(json.dumps(work(what, way, Path(folder), arguments.events)))
    else:
        report(arguments)


if __name__ == "__main__":
    main()
