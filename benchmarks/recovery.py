"""How long a decider takes to go on with a long log: told event by event, and with a snapshot.

The log is that of a simulation, with the header and the keys of a decider, so that it is written quickly; its decisions
are made again all the same. The floor is what reading the file takes, and what decoding its lines takes.

    python benchmarks/recovery.py [--events 10000000] [--policy delayed-ucb1]
"""

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tpstream import Decider, Scenario, read_log, simulate
from tpstream.log.schema import DeciderSettings

SPAN = 8


def write_log(path: Path, policy: str, events: int) -> int:
    """Write a log of about that many events; their number."""
    scenario = Scenario(
        name="recovery",
        horizon=events // (SPAN + 2),
        span=SPAN,
        rewards={"kind": "smooth-beta", "groups": 2, "spread": "random"},
        arms=[{"name": name, "maximum": 10.0 + place} for place, name in enumerate("abcd")],
    )
    raw = path.with_suffix(".raw.jsonl")
    simulate(scenario, policy, log=raw, log_detail="probabilities")
    header = read_log(raw).header
    settings = DeciderSettings(identity="0123456789abcdef", clock="caller", silence="wait")
    known = {"scenario": {"name": "recovery"}, "means": [None] * 4, "horizon": header.horizon + 10}
    changed = msgspec.structs.replace(header, **known, decider=settings)
    count = 0
    with raw.open("rb") as source, path.open("wb") as target:
        source.readline()
        target.write(msgspec.json.encode(changed) + b"\n")
        for line in source:
            if line.startswith(b'{"end"'):
                break
            key = b"" if b'"closed"' in line else b',"key":"%d"' % count
            target.write(line[:-2] + key + b"}\n")
            count += 1
    raw.unlink()
    return count


def timed(what: str, events: int, action: Callable[[], Any]) -> Any:
    """Do it, and print how long it takes, by the clock and by the processor."""
    began, before = time.perf_counter(), time.process_time()
    result = action()
    seconds, worked = time.perf_counter() - began, time.process_time() - before
    print(f"{what:<34} {seconds:9.2f} s, processor {worked:9.2f} s, {worked / events * 1e6:7.3f} us per event")
    return result


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def decode(path: Path) -> int:
    """Decode every column of a log."""
    return sum(len(batch) for batch in read_log(path).batches())


def main() -> None:
    """Write the log, and open it twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--policy", default="delayed-ucb1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.jsonl", Path(folder) / "long.jsonl"
        write_log(small, options.policy, 10_000)
        Decider.open(small).close()  # everything is compiled
        events = write_log(path, options.policy, options.events)
        print(f"{events:,} events, {path.stat().st_size / 1e6:,.0f} MB, {options.policy}")
        timed("read and hash the file (floor)", events, lambda: hash_file(path))
        decider = timed("recovery without a snapshot", events, lambda: Decider.open(path, snapshot_every=None))
        expected = decider.decide("next").arm
        timed("take a snapshot", events, decider.snapshot)
        decider.close()
        decider = timed("recovery with the snapshot", events, lambda: Decider.open(path, snapshot_every=None))
        print(f"events that the snapshot stood for: {decider.recovery.from_snapshot:,}")
        if decider.decide("next").arm != expected:
            raise SystemExit("the decisions differ")
        decider.close()
        timed("decode all columns (floor)", events, lambda: decode(path))


if __name__ == "__main__":
    main()
