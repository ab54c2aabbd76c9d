"""Fingerprints of everything that the shipped scenarios gave when they were recorded.

`python tests/golden/golden.py` records them anew into golden.json. That is right only when a change of the numbers is
wanted; the commit that does it says why.

The hashes of tables were recorded anew when the intervals in tables were cut at what is possible: the columns `low` and
`high` differ where they had left their range, and nothing else.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from tpstream import Scenario, TpstreamError, compare, read_log, replay, simulate

HERE = Path(__file__).parent
RECORD = HERE / "golden.json"
POLICIES = ("ucb1", "delayed-ucb1", "tp-ucb-fr", "tp-ucb-ew", "uniform", "oracle")
ENGINES = ("simpy", "compiled")
HORIZON = 150
"""Rounds of every run: past the longest start-up phase of most policies, and short enough for SimPy."""
RUNS = 3
COLUMNS = ("seq", "time", "round", "pull", "arm", "part", "value")
PACKAGES = ("numpy", "numba", "simpy", "scipy")
"""Packages whose version may change a bit of a number."""


def names() -> list[str]:
    """The frozen scenarios."""
    return sorted(file.stem for file in (HERE / "scenarios").glob("*.toml"))


def load(name: str) -> Scenario:
    """A frozen scenario at the short horizon."""
    return Scenario.load(HERE / "scenarios" / f"{name}.toml").with_(horizon=HORIZON)


def made_on() -> dict[str, str]:
    """What the numbers depend on besides our code."""
    packages = {name: version(name) for name in PACKAGES}
    return {"machine": platform.machine(), "python": platform.python_version_tuple()[1], **packages}


def fingerprint(frame: pd.DataFrame) -> str:
    """The hash of all events of a log: every column, to the last bit."""
    digest = hashlib.sha256()
    for name in COLUMNS:
        column = frame[name].to_numpy()
        digest.update(f"{name} {column.dtype}".encode() + column.tobytes())
    digest.update(",".join(frame["kind"].astype(str)).encode())
    if "indices" in frame:
        digest.update(np.vstack([row for row in frame["indices"] if row is not None]).tobytes())
    return digest.hexdigest()[:24]


def text_hash(value: object) -> str:
    """The hash of plain values; numbers by all their digits."""
    return hashlib.sha256(json.dumps(value, default=repr).encode()).hexdigest()[:24]


def of_events(scenario: Scenario, folder: Path) -> Iterator[tuple[str, str]]:
    """The events of every policy on every engine that serves, and what replay says of them."""
    for policy in POLICIES:
        for engine in ENGINES:
            log = folder / f"{policy}.{engine}.arrow"
            try:
                simulate(scenario, policy, engine=engine, log=log, log_detail="indices")
            except TpstreamError as error:
                if "cannot serve" not in str(error):
                    raise
                continue
            yield f"events {policy} {engine}", fingerprint(read_log(log).frame())
            if engine == "simpy":
                yield f"replay {policy}", of_replay(log, policy)


def of_replay(log: Path, policy: str) -> str:
    """What replay says of a log, under its own policy and under another one."""
    own = replay(log, folder=HERE / "scenarios")
    other = replay(log, "delayed-ucb1" if policy != "delayed-ucb1" else "uniform", folder=HERE / "scenarios")
    parted: Any = other.divergence
    told = None if parted is None else (parted.round, parted.seq, parted.logged, parted.decided, list(parted.indices))
    return text_hash([own.equal, own.rounds, own.complete, own.notes, other.rounds, told])


def of_study(scenario: Scenario) -> str:
    """The tables of a small study."""
    study = compare(scenario, list(POLICIES), runs=RUNS, rounds=[HORIZON // 2])
    frames = [study.table().drop(columns="seconds_per_run"), study.results(), study.contrasts(), study.curves()]
    return text_hash([frame.to_dict("list") for frame in [*frames, study.pulls()]])


def fingerprints(name: str) -> dict[str, str]:
    """All fingerprints of a scenario."""
    scenario = load(name)
    with TemporaryDirectory() as folder:
        return {**dict(of_events(scenario, Path(folder))), "study": of_study(scenario)}


if __name__ == "__main__":
    found = {"made on": made_on(), "scenarios": {name: fingerprints(name) for name in names()}}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
